//! serde attributes that part the key from what is sent.
//!
//! A key is derived from the JSON that other programs see, so a gateway in another language
//! reaches the same one. That holds only while each key field has one wire name and its own
//! type's wire form.

use proc_macro2::Span;

use super::spelling;
use crate::ast::{Fact, FactKind, Field, Form, Item};
use crate::ctxt::Ctxt;

/// With these the wire form of the whole type is not an object of its fields.
pub(super) fn container(cx: &Ctxt, item: &Item) {
    for fact in &item.serde.facts {
        let (option, becomes) = match fact.kind {
            FactKind::Transparent => ("transparent", "the bare value of its one field"),
            FactKind::Into => ("into", "that of another type"),
            FactKind::Remote => ("remote", "a stand-in for another type"),
            _ => continue,
        };
        cx.error_at(
            fact.span,
            format!(
                "`serde({option})` makes the wire form of `{}` {becomes}, so its fields have no wire names to derive a key from\nhelp: put the attribute on the type whose fields are sent",
                item.ident
            ),
        );
    }
}

/// Refuses everything that keeps a key field off the wire, changes its form, or gives it a
/// second name.
pub(super) fn key_field(cx: &Ctxt, field: &Field) {
    let name = field.name();
    for fact in &field.serde.facts {
        let is_stated = matches!(fact.kind, FactKind::With | FactKind::SerializeWith) && spelling::is_stated(field);
        if let Some((option, why, help)) = objection(&fact.kind).filter(|_| !is_stated) {
            cx.error_at(
                fact.span,
                format!("`serde({option})` on key field `{name}`: {why}\nhelp: {help}"),
            );
        }
    }
}

/// A payload field that is not sent has its default on the other side, where the fingerprint
/// would be another one.
pub(super) fn payload_field(cx: &Ctxt, field: &Field) {
    for Fact { kind, span } in &field.serde.facts {
        let option = match kind {
            FactKind::Skip => "skip",
            FactKind::SkipSerializing => "skip_serializing",
            FactKind::SkipDeserializing => "skip_deserializing",
            _ => continue,
        };
        cx.error_at(
            *span,
            format!(
                "`serde({option})` keeps payload field `{}` from the other side, which would then see another payload\nhelp: mark the field `#[transient]`, or take `{option}` off",
                field.name()
            ),
        );
    }
}

/// Two names for one member would give two keys, one on each side of the wire.
pub(super) fn one_name_each(cx: &Ctxt, fields: &[&Field], form: &Form, item: &Item) {
    let two_names = || fields.iter().filter(|field| field.wire != field.read_as);
    for field in two_names() {
        if let Some(span) = field.serde.rename_at {
            cx.error_at(
                span,
                format!(
                    "key field `{}` is written as `{}` and read as `{}`, which would give two keys\nhelp: use one name for both, as in `rename = \"{}\"`",
                    field.name(),
                    field.wire,
                    field.read_as,
                    field.wire
                ),
            );
        }
    }
    // One rule for all fields is one mistake.
    let by_rule: Vec<_> = two_names().filter(|field| field.serde.rename_at.is_none()).collect();
    let rule = form.serde.rename_all_at.or(item.serde.rename_all_at);
    if let (Some(first), Some(span)) = (by_rule.first(), rule) {
        cx.error_at(
            span,
            format!(
                "key fields are written under one name and read under another (`{}` as `{}` and `{}`), which would give two keys\nhelp: use one rule for both, as in `rename_all = \"camelCase\"`",
                first.name(),
                first.wire,
                first.read_as,
            ),
        );
    }
}

/// A struct's tag is a member that no field gives. One name for two members would leave it to the reader which counts.
/// (For an enum serde itself says so.)
pub(super) fn tag_is_no_key_field(cx: &Ctxt, item: &Item, key: &[&Field]) {
    for fact in &item.serde.facts {
        if let FactKind::Tag(name) = &fact.kind
            && let Some(field) = key.iter().find(|field| field.wire == *name)
        {
            cx.error_at(
                fact.span,
                format!(
                    "`serde(tag)` puts a second `{name}` on the wire, beside key field `{}`\nhelp: give the tag another name, or leave it out",
                    field.name()
                ),
            );
        }
    }
}

/// With these the wire form of a variant is not an object of its fields. Its name is in no
/// key, so what is said about the name does not matter.
pub(super) fn variant_form(cx: &Ctxt, form: &Form) {
    for fact in &form.serde.facts {
        let option = match fact.kind {
            FactKind::With => "with",
            FactKind::SerializeWith => "serialize_with",
            _ => continue,
        };
        cx.error_at(
            fact.span,
            format!(
                "`serde({option})` on variant `{}` hides the wire names of its fields, which make the key\nhelp: take it off, or put the form into a type of its own",
                form.ident
            ),
        );
    }
}

/// The same for a variant of a key field, whose name is part of the key.
pub(super) fn variant(cx: &Ctxt, form: &Form, item: &Item) {
    let ident = &form.ident;
    for Fact { kind, span } in &form.serde.facts {
        let option = match kind {
            FactKind::Skip => "skip",
            FactKind::SkipSerializing => "skip_serializing",
            FactKind::SkipDeserializing => "skip_deserializing",
            FactKind::With => "with",
            FactKind::SerializeWith => "serialize_with",
            FactKind::Alias => "alias",
            FactKind::Untagged => "untagged",
            FactKind::Other => "other",
            _ => continue,
        };
        cx.error_at(
            *span,
            format!(
                "`serde({option})` on variant `{ident}` parts its form on the wire from that in a key\nhelp: take it off, or keep enum `{}` out of keys",
                item.ident
            ),
        );
    }
    if form.wire != form.read_as {
        cx.error_at(
            form.serde
                .rename_at
                .or(item.serde.rename_all_at)
                .unwrap_or_else(Span::call_site),
            format!(
                "variant `{ident}` is written as `{}` and read as `{}`, which would give two keys\nhelp: use one name for both, as in `rename = \"{}\"`",
                form.wire, form.read_as, form.wire
            ),
        );
    }
}

/// What is wrong with an option on a key field, and what to do; `None` if nothing is.
fn objection(kind: &FactKind) -> Option<(&'static str, &'static str, &'static str)> {
    const OFF_THE_WIRE: &str = "the field is not sent, so the other side would derive another key";
    const TAKE_OFF: &str = "take it off, or take the field out of the key";
    const OTHER_FORM: &str = "the key is derived from the field's own type, which is not what is sent";
    const NEWTYPE: &str = "put the form into a newtype with `Serialize` and `#[derive(KeyField)]`; if it is sent as text, say so with `#[key(text)]` or `#[key(display)]`";
    Some(match kind {
        FactKind::Skip => ("skip", OFF_THE_WIRE, TAKE_OFF),
        FactKind::SkipSerializing => ("skip_serializing", OFF_THE_WIRE, TAKE_OFF),
        FactKind::SkipDeserializing => (
            "skip_deserializing",
            "the value that is sent is not read, so the other side would derive another key",
            TAKE_OFF,
        ),
        FactKind::SkipSerializingIf(predicate) if leaves_out_none_only(predicate) => return None,
        FactKind::SkipSerializingIf(_) => (
            "skip_serializing_if",
            "a value is left out of what is sent, but not out of the key",
            "use an `Option` with `skip_serializing_if = \"Option::is_none\"`: the key leaves out `None` as well",
        ),
        FactKind::Flatten => (
            "flatten",
            "the members of the value have no names that are known here",
            "name the fields one by one, or nest the value",
        ),
        FactKind::With => ("with", OTHER_FORM, NEWTYPE),
        FactKind::SerializeWith => ("serialize_with", OTHER_FORM, NEWTYPE),
        FactKind::Alias => (
            "alias",
            "the field has two names on the wire, which would give two keys",
            "keep one name",
        ),
        _ => return None,
    })
}

/// `None` is left out of a key as well; it is the one omission both sides agree about.
fn leaves_out_none_only(predicate: &str) -> bool {
    let path: String = predicate.split_whitespace().collect();
    let path = path.trim_start_matches("::");
    matches!(
        path,
        "Option::is_none" | "std::option::Option::is_none" | "core::option::Option::is_none"
    )
}
