//! The key, and the place of `once_per`.

use syn::LitStr;
use syn::ext::IdentExt;

use super::names::Named;
use crate::args::Args;
use crate::ast::Form;
use crate::ctxt::Ctxt;
use crate::plan::TenantPlan;
use crate::suggest::{folded, listed};
use crate::symbol::{ACTION, PER_ATTEMPT, TENANT};

/// Without a key each call would be the same effect.
pub(super) fn is_given(cx: &Ctxt, form: &Form, args: &Args, is_variant: bool) {
    let example = "`key = [case_id]`";
    match &args.key {
        Some(list) if list.names.is_empty() && !list.is_partial => cx.error(
            &list.option,
            format!(
                "the key of `{}` is empty: every call would be answered with the first one's outcome\nhelp: name the fields that tell one effect from the next, as in {example}",
                form.ident
            ),
        ),
        None if !args.mentions("key") => cx.error(
            &form.ident,
            format!(
                "{}`{}` has no key{}\nhelp: add to its `#[idempotent(..)]` the fields that tell one effect from the next, as in {example}",
                if is_variant { "variant " } else { "" },
                form.ident,
                if is_variant { " of its own" } else { "" },
            ),
        ),
        _ => {}
    }
}

/// A key needs an anchor in the domain. With nothing but the tenant and the action, a tenant
/// could do each thing once and never again.
pub(super) fn has_an_anchor(cx: &Ctxt, args: &Args, key: &[Named<'_>], tenant: &TenantPlan<'_>) {
    let Some(list) = &args.key else { return };
    // A name that was not found may have been the anchor.
    if key.is_empty() || list.is_partial || key.len() < list.names.len() {
        return;
    }
    let is_anchor = |it: &Named<'_>| {
        !matches!(tenant, TenantPlan::Field(field) if std::ptr::eq(*field, it.field))
            && it.field.wire != TENANT
            && it.field.wire != ACTION
    };
    if !key.iter().any(is_anchor) {
        cx.error(
            &list.option,
            format!(
                "the key has no field besides {}: every later call of the tenant would be answered with the first one's outcome\nhelp: add what tells one effect from the next: the case, order, step or event that asks for it",
                listed(key.iter().map(|it| it.field.name()))
            ),
        );
    }
}

/// The attribute's action is a member of the key's JSON object, named `action`.
pub(super) fn action_is_not_a_field_too(cx: &Ctxt, key: &[Named<'_>], action: Option<&LitStr>) {
    let Some(action) = action else { return };
    for it in key.iter().filter(|it| it.field.wire == ACTION) {
        cx.error(
            &it.ident,
            format!(
                "key field `{}` is `{ACTION}` on the wire, and so is the action {:?} of the attribute\nhelp: rename the field with `#[serde(rename = \"..\")]`, take it out of the key, or leave out `action = ..`",
                it.field.name(),
                action.value(),
            ),
        );
    }
}

/// Names that stand for something new on each attempt: with such a field in the key a retry
/// is another effect, and nothing is protected.
pub(super) fn names_do_not_vary_per_attempt(cx: &Ctxt, key: &[Named<'_>], args: &Args) {
    let allowed = |name: &str| {
        args.allow
            .iter()
            .flat_map(|list| &list.names)
            .any(|it| it.unraw() == name)
    };
    for it in key {
        let name = it.field.name();
        let wire = &it.field.wire;
        if varies_per_attempt(&name, wire) && !allowed(&name) {
            let on_the_wire = match varies_per_attempt(&name, &name) {
                true => String::new(),
                false => format!(", on the wire `{wire}`,"),
            };
            cx.error(
                &it.ident,
                format!(
                    "`{name}`{on_the_wire} is usually new on each attempt, which would make each retry another effect\nhelp: mark the field `#[transient]`; if a retry repeats the value, say so with `allow = [{name}]`"
                ),
            );
        }
    }
}

/// Says whether a field of this name probably differs from attempt to attempt.
pub(super) fn varies_per_attempt(name: &str, wire: &str) -> bool {
    [name, wire]
        .iter()
        .any(|name| PER_ATTEMPT.contains(&folded(name).as_str()))
}

/// `allow` that allows nothing is a slip, or is left from a field that was renamed.
pub(super) fn allow_is_needed(cx: &Ctxt, args: &Args, form: &Form, key: &[Named<'_>]) {
    let Some(list) = &args.allow else { return };
    for named in super::names::resolve(cx, form, &list.names, &list.option) {
        let (name, wire) = (named.field.name(), &named.field.wire);
        if !varies_per_attempt(&name, wire) {
            cx.error(&named.ident, format!("`{name}` needs no `allow`\nhelp: leave it out"));
        } else if !key.iter().any(|it| std::ptr::eq(it.field, named.field)) {
            cx.error(
                &named.ident,
                format!("`{name}` is not in the key, so there is nothing to allow\nhelp: leave it out"),
            );
        }
    }
}

/// A place is what a second decision is compared by, so it must be the same on each attempt.
pub(super) fn place_is_stable(cx: &Ctxt, args: &Args, places: &[Named<'_>]) {
    if let Some(list) = &args.once_per
        && list.names.is_empty()
        && !list.is_partial
    {
        cx.error(
            &list.option,
            "`once_per` is empty: the action could happen once and never again\nhelp: name the fields that make the place, as in `once_per = [case_id]`",
        );
    }
    for it in places {
        let mark = match &it.field.marks {
            marks if marks.transient.is_some() => "transient",
            marks if marks.basis.is_some() => "basis",
            _ => continue,
        };
        cx.error(
            &it.ident,
            format!(
                "`{}` is `#[{mark}]`: a retry may have another value there, and would take another place\nhelp: take it out of `once_per`, or take the mark off the field",
                it.field.name()
            ),
        );
    }
}
