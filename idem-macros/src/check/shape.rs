//! Which items can be idempotent at all.

use proc_macro2::Span;

use crate::ast::{Body, Form, Item, Marks, Style};
use crate::ctxt::Ctxt;

/// A key member has a name on the wire, which must outlive reordering, so fields need names.
/// Returns whether they have.
pub(super) fn fields_are_named(cx: &Ctxt, form: &Form, is_variant: bool) -> bool {
    let ident = &form.ident;
    let kind = match (form.style, is_variant) {
        (Style::Named, _) => return true,
        (Style::Tuple, true) => "variant",
        (Style::Tuple, false) => "tuple struct",
        (Style::Unit, true) => "unit variant",
        (Style::Unit, false) => "unit struct",
    };
    let message = match form.style {
        Style::Unit => format!(
            "{kind} `{ident}` has no fields, so nothing tells one effect from the next\nhelp: give it a field that does, as in `{ident} {{ case_id: String }}`, and `key = [case_id]`"
        ),
        _ => format!(
            "{kind} `{ident}` has fields without names, and a key needs the names\nhelp: name the fields, as in `{ident} {{ case_id: String }}`"
        ),
    };
    cx.error(ident, message);
    false
}

/// An enum without variants has no value, so nothing of it can be in a key.
pub(super) fn enum_has_variants(cx: &Ctxt, item: &Item, forms: &[Form], example: &str) {
    if forms.is_empty() {
        cx.error(
            &item.ident,
            format!(
                "enum `{}` has no variants, and so no value that could have a key\nhelp: add one, as in `{example}`",
                item.ident
            ),
        );
    }
}

/// A union does not know which of its fields holds a value.
pub(super) fn union(cx: &Ctxt, span: Span, what: &str) {
    cx.error_at(
        span,
        format!(
            "a union cannot be {what}: which of its fields holds a value is not known\nhelp: use a struct with named fields, or an enum"
        ),
    );
}

/// `#[transient]` and `#[basis]` are about one field. On an item or variant they would look
/// as if they did something.
pub(super) fn marks_are_on_fields(cx: &Ctxt, item: &Item) {
    misplaced(cx, &item.marks, "type");
    if let Body::Enum(forms) = &item.body {
        for form in forms {
            misplaced(cx, &form.marks, "variant");
        }
    }
}

fn misplaced(cx: &Ctxt, marks: &Marks, place: &str) {
    for (mark, span) in [
        ("transient", marks.transient),
        ("basis", marks.basis),
        // What `#[key(..)]` says in parentheses has a rule of its own.
        (
            "key",
            marks.key.filter(|_| marks.root.is_none() && marks.spelling.is_none()),
        ),
    ] {
        if let Some(span) = span {
            cx.error_at(
                span,
                format!("`#[{mark}]` marks one field, not a whole {place}\nhelp: put it on each field that is meant"),
            );
        }
    }
}
