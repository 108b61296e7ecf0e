//! Each field is in one class: key, payload, transient or basis.

use proc_macro2::Span;

use super::names::Named;
use crate::ast::{Field, Form};
use crate::ctxt::Ctxt;

/// A field in two classes has two answers to "is a retry that differs here the same
/// effect?".
pub(super) fn one_for_each_field(cx: &Ctxt, form: &Form, key: &[Named<'_>], payload: &[Named<'_>]) {
    for field in &form.fields {
        let classes: Vec<(&str, Span)> = [
            ("`key = [..]`", mention(key, field)),
            ("`payload = [..]`", mention(payload, field)),
            ("`#[transient]`", field.marks.transient),
            ("`#[basis]`", field.marks.basis),
        ]
        .into_iter()
        .filter_map(|(class, span)| Some((class, span?)))
        .collect();
        if let [(first, _), others @ ..] = classes.as_slice() {
            for (second, span) in others {
                cx.error_at(
                    *span,
                    format!(
                        "field `{}` is in two classes, {first} and {second}\nhelp: keep one: a retry with another value there is another effect (key), refused (payload), or the same effect (transient, basis)",
                        field.name()
                    ),
                );
            }
        }
    }
}

/// `strict` is for types where a field that is added later must not become payload in
/// silence.
pub(super) fn every_field_has_one(cx: &Ctxt, form: &Form, key: &[Named<'_>], payload: &[Named<'_>]) {
    for field in &form.fields {
        let has_one = mention(key, field).is_some()
            || mention(payload, field).is_some()
            || field.marks.transient.is_some()
            || field.marks.basis.is_some();
        if !has_one {
            cx.error(
                &field.member,
                format!(
                    "field `{}` has no class, and the attribute says `strict`\nhelp: name it in `key = [..]` or `payload = [..]`, or mark it `#[transient]` or `#[basis]`",
                    field.name()
                ),
            );
        }
    }
}

/// `#[key]` chooses in a type that derives `KeyField`; taken in silence here, the field would be
/// payload and not key.
pub(super) fn no_key_mark(cx: &Ctxt, form: &Form, place: &str) {
    for field in &form.fields {
        if let (Some(span), None, None) = (field.marks.key, field.marks.spelling, &field.marks.root) {
            cx.error_at(
                span,
                format!(
                    "`#[key]` does not put a field of an `#[idempotent]` type into the key\nhelp: name `{}` in {place}",
                    field.name()
                ),
            );
        }
    }
}

/// Once fields of a key field are chosen with `#[key]`, one that is left out must be seen to
/// be left out: a field added later would otherwise change nothing, in silence.
pub(super) fn none_is_forgotten(cx: &Ctxt, form: &Form) {
    for field in &form.fields {
        if let (Some(key), Some(_)) = (field.marks.key, field.marks.transient) {
            cx.error_at(
                key,
                format!(
                    "field `{}` is `{}` and `#[transient]`\nhelp: keep one",
                    field.name(),
                    field.marks.key_as_written()
                ),
            );
        }
    }
    let Some(chosen) = form.fields.iter().find(|field| field.marks.key.is_some()) else {
        return;
    };
    for field in &form.fields {
        if field.marks.key.is_none() && field.marks.transient.is_none() {
            cx.error_at(
                field.span(),
                format!(
                    "field `{}` is neither `#[key]` nor `#[transient]`, while `{}` is `{}`\nhelp: mark each field one or the other, so that none is left out unseen",
                    field.name(),
                    chosen.name(),
                    chosen.marks.key_as_written()
                ),
            );
        }
    }
}

fn mention(list: &[Named<'_>], field: &Field) -> Option<Span> {
    list.iter()
        .find(|it| std::ptr::eq(it.field, field))
        .map(|it| it.ident.span())
}
