//! `#[derive(KeyField)]`: each field is in the identity unless it is left out visibly.

use super::{class, key, names, serde, shape, sorted, spelling};
use crate::ast::{Body, Fact, FactKind, Field, Form, Item, Style};
use crate::ctxt::Ctxt;

/// A struct or a variant with the fields that make its identity.
pub(crate) struct Identity<'a> {
    pub(crate) form: &'a Form,
    /// Named fields in the order of wire names, others in their own.
    pub(crate) fields: Vec<&'a Field>,
}

/// Checks a type for `#[derive(KeyField)]`. The result may be used only if `cx` stays clean.
pub(crate) fn key_field<'a>(cx: &Ctxt, item: &'a Item) -> Vec<Identity<'a>> {
    shape::marks_are_on_fields(cx, item);
    spelling::options_are_in_place(cx, item, &item.forms());
    match &item.body {
        Body::Struct(form) => {
            container(cx, item, form);
            let identity = identity(cx, item, form);
            has_identity(cx, form, &identity);
            vec![identity]
        }
        Body::Enum(forms) => {
            shape::enum_has_variants(cx, item, forms, "Card(CardId)");
            serde::container(cx, item);
            tagged_by_name(cx, item);
            for form in forms {
                serde::variant(cx, form, item);
            }
            unique_variants(cx, forms);
            forms.iter().map(|form| identity(cx, item, form)).collect()
        }
        Body::Union(span) => {
            shape::union(cx, *span, "part of a key");
            Vec::new()
        }
    }
}

fn identity<'a>(cx: &Ctxt, item: &'a Item, form: &'a Form) -> Identity<'a> {
    let kept = || form.fields.iter().filter(|field| field.marks.transient.is_none());
    let fields = match form.style {
        Style::Named => sorted(kept()),
        _ => kept().collect(),
    };
    class::none_is_forgotten(cx, form);
    no_basis(cx, form);
    // In the order in which they stand in the source.
    for field in kept() {
        serde::key_field(cx, field);
        spelling::display_is_of_no_float(cx, field);
        if form.style == Style::Named {
            name_is_stable(cx, field);
        }
    }
    if form.style == Style::Named {
        names::unique_on_the_wire(cx, &fields);
        serde::one_name_each(cx, &fields, form, item);
    }
    Identity { form, fields }
}

/// A newtype is its inner value on the wire with or without `transparent`; anything else
/// that `transparent` stands on is not.
fn container(cx: &Ctxt, item: &Item, form: &Form) {
    let is_newtype = form.style == Style::Tuple && form.fields.len() == 1;
    let is_transparent = item.serde.facts.iter().all(|fact| fact.kind == FactKind::Transparent);
    if !(is_newtype && is_transparent) {
        serde::container(cx, item);
    }
    if let Some(Fact { span, .. }) = item.serde.facts.iter().find(|it| matches!(it.kind, FactKind::Tag(_))) {
        cx.error_at(
            *span,
            format!(
                "`serde(tag)` puts a member on the wire that struct `{}` does not have in a key\nhelp: take it off, or make it a field of its own",
                item.ident
            ),
        );
    }
}

/// Two values that differ in nothing would be one, and a key with only such a field never
/// changes.
fn has_identity(cx: &Ctxt, form: &Form, identity: &Identity<'_>) {
    if !identity.fields.is_empty() {
        return;
    }
    let why = if form.fields.is_empty() {
        "has no fields"
    } else {
        "has no field that is not `#[transient]`"
    };
    cx.error(
        &form.ident,
        format!(
            "`{}` {why}, so all its values would be one in a key\nhelp: keep a field that tells one value from the next",
            form.ident
        ),
    );
}

/// The derive writes what serde writes by default: the name of the variant, or an object
/// with the name as its one member.
fn tagged_by_name(cx: &Ctxt, item: &Item) {
    for fact in &item.serde.facts {
        let option = match fact.kind {
            FactKind::Tag(_) => "tag",
            FactKind::Content => "content",
            FactKind::Untagged => "untagged",
            _ => continue,
        };
        // `tag` and `content` are one mistake.
        let has_tag = |it: &Fact| matches!(it.kind, FactKind::Tag(_));
        if option == "content" && item.serde.facts.iter().any(has_tag) {
            continue;
        }
        cx.error_at(
            fact.span,
            format!(
                "`serde({option})` gives enum `{}` another form on the wire than in a key\nhelp: take it off: variants are then `\"name\"` or `{{\"name\": value}}` in both",
                item.ident
            ),
        );
    }
}

/// Two variants with one name would be one value.
fn unique_variants(cx: &Ctxt, forms: &[Form]) {
    for (index, form) in forms.iter().enumerate() {
        if let Some(first) = forms.iter().take(index).find(|it| it.wire == form.wire) {
            cx.error(
                &form.ident,
                format!(
                    "variants `{}` and `{}` are both `{}` on the wire\nhelp: rename one of them with `#[serde(rename = \"..\")]`",
                    first.ident, form.ident, form.wire
                ),
            );
        }
    }
}

/// The same names are refused in `key = [..]`; here `#[key]` says that it is meant.
fn name_is_stable(cx: &Ctxt, field: &Field) {
    let name = field.name();
    if field.marks.key.is_none() && key::varies_per_attempt(&name, &field.wire) {
        cx.error_at(
            field.span(),
            format!(
                "`{name}` is usually new on each attempt, which would make each retry another effect\nhelp: mark the field `#[transient]`; if a retry repeats the value, say so with `#[key]` on each field of the identity"
            ),
        );
    }
}

/// The basis of a decision belongs to the type that describes the effect.
fn no_basis(cx: &Ctxt, form: &Form) {
    for field in &form.fields {
        if let Some(span) = field.marks.basis {
            cx.error_at(
                span,
                "`#[basis]` has no meaning inside a key field\nhelp: put the basis into the `#[idempotent]` type, or mark the field `#[transient]`",
            );
        }
    }
}
