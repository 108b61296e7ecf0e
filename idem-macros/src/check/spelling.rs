//! `#[key(text)]`, `#[key(set)]` and `#[key(display)]`: how a field is written in a key.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::ast::{Field, Form, Item, Spelling};
use crate::ctxt::Ctxt;
use crate::plan::{Plan, TenantPlan};
use crate::symbol::KEY;

/// A field that is written nowhere in a key has no spelling there; the mark would look as if the field were key.
pub(super) fn has_an_effect(cx: &Ctxt, plan: &Plan<'_>) {
    for field in &plan.form.fields {
        let Some((spelling, span)) = field.marks.spelling else {
            continue;
        };
        let name = field.name();
        let is_in = |fields: &[&Field]| fields.iter().any(|it| std::ptr::eq(*it, field));
        let is_tenant = matches!(plan.tenant, TenantPlan::Field(tenant) if std::ptr::eq(tenant, field));
        let is_written = is_in(&plan.key)
            || plan.once_per.as_ref().is_some_and(|places| is_in(places))
            || plan.subject.is_some_and(|subject| std::ptr::eq(subject, field));
        if is_tenant {
            cx.error_at(
                span,
                format!(
                    "`#[{KEY}({})]` on `{name}`, which is the tenant and is text as it is\nhelp: take the mark off",
                    spelling.name()
                ),
            );
        } else if !is_written {
            cx.error_at(
                span,
                format!(
                    "`#[{KEY}({})]` says how a field is written in the key, and `{name}` is not in it\nhelp: name `{name}` in `key = [..]`, or take the mark off",
                    spelling.name()
                ),
            );
        }
    }
}

/// Its `Display` does not make a float the same on two attempts.
pub(super) fn display_is_of_no_float(cx: &Ctxt, field: &Field) {
    let Some((Spelling::Display, _)) = field.marks.spelling else {
        return;
    };
    if let Some(float) = float(field.ty.to_token_stream()) {
        cx.error(
            &float,
            format!(
                "`#[{KEY}(display)]` is for ids, and `{}` is a float, which two attempts may compute differently\nhelp: use integer minor units (cents), or a decimal string",
                field.name()
            ),
        );
    }
}

fn float(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "f32" || ident == "f64" => Some(ident),
        TokenTree::Group(group) => float(group.stream()),
        _ => None,
    })
}

/// Says whether the key states its own form of the field, whatever serde is told to send.
pub(super) fn is_stated(field: &Field) -> bool {
    matches!(field.marks.spelling, Some((Spelling::Text | Spelling::Display, _)))
}

/// `crate` is about the whole type, the spelling about one field.
pub(super) fn options_are_in_place(cx: &Ctxt, item: &Item, forms: &[&Form]) {
    if let Some((spelling, span)) = item.marks.spelling {
        on_one_field(cx, span, spelling, "type");
    }
    for form in forms {
        if let Some((spelling, span)) = form.marks.spelling {
            on_one_field(cx, span, spelling, "variant");
        }
        let fields = form.fields.iter().map(|field| &field.marks);
        for (_, span) in fields.chain([&form.marks]).filter_map(|marks| marks.root.as_ref()) {
            cx.error_at(
                *span,
                "`crate` is about the whole type\nhelp: write `#[key(crate = ..)]` above the type that derives `KeyField`",
            );
        }
    }
}

fn on_one_field(cx: &Ctxt, span: Span, spelling: Spelling, place: &str) {
    cx.error_at(
        span,
        format!(
            "`#[{KEY}({})]` is about one field, not about a whole {place}\nhelp: put it on the field that is meant",
            spelling.name()
        ),
    );
}
