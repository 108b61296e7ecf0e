//! Variants of an enum, each an effect of its own.

use proc_macro2::TokenStream;

use crate::ast::{Field, Form};
use crate::ctxt::Ctxt;
use crate::plan::{Plan, TenantPlan};
use crate::suggest::listed;

/// Variants are different effects with different fields, so no key fits all.
pub(super) fn own_attribute(cx: &Ctxt, form: &Form) -> Option<TokenStream> {
    if form.carried.is_none() {
        cx.error(
            &form.ident,
            format!(
                "variant `{}` has no key of its own\nhelp: put `#[idempotent(action = \"..\", key = [..])]` on it",
                form.ident
            ),
        );
    }
    form.carried.clone()
}

/// An enum is `Idempotent` as a whole, so each of its values needs an action.
pub(super) fn all_have_an_action_or_none(cx: &Ctxt, plans: &[Plan<'_>]) {
    let Some(with) = plans.iter().find(|plan| plan.action.is_some()) else {
        return;
    };
    for plan in plans.iter().filter(|plan| plan.action.is_none()) {
        let ident = &plan.form.ident;
        cx.error(
            ident,
            format!(
                "variant `{ident}` has no action, but variant `{}` has one\nhelp: add `action = \"..\"` to `{ident}`, or one for all variants to the enum",
                with.form.ident
            ),
        );
    }
}

/// Whether the call has to give the tenant is a fact about the type, known when it is
/// compiled, so it cannot depend on the variant.
pub(super) fn all_name_a_tenant_or_none(cx: &Ctxt, plans: &[Plan<'_>]) {
    let by_call = |plan: &&Plan<'_>| matches!(plan.tenant, TenantPlan::Call);
    let Some(with) = plans.iter().find(|plan| !by_call(plan)) else {
        return;
    };
    for plan in plans.iter().filter(by_call) {
        let ident = &plan.form.ident;
        cx.error(
            ident,
            format!(
                "variant `{ident}` does not say where its tenant comes from, but variant `{}` does\nhelp: add `tenant = field` or `tenant = none` to `{ident}`, or give it a key field named `tenant`",
                with.form.ident
            ),
        );
    }
}

/// The name of the variant is not in the key. Two variants with the same action and the same
/// members can have the same key, and one would be answered with the other's outcome.
pub(super) fn no_two_share_a_key(cx: &Ctxt, plans: &[Plan<'_>]) {
    for (index, plan) in plans.iter().enumerate() {
        let same = plans
            .iter()
            .take(index)
            .find(|other| action(other) == action(plan) && wires(&other.key).eq(wires(&plan.key)));
        if let Some(other) = same {
            let what = match action(plan) {
                Some(action) => format!("the action {action:?} and the"),
                None => "no action and the same".to_owned(),
            };
            cx.error(
                &plan.form.ident,
                format!(
                    "variants `{}` and `{}` share {what} key {}, so that one could be answered with the outcome of the other\nhelp: give each an action of its own",
                    other.form.ident,
                    plan.form.ident,
                    listed(wires(&plan.key))
                ),
            );
        }
    }
}

fn action(plan: &Plan<'_>) -> Option<String> {
    plan.action.as_ref().map(syn::LitStr::value)
}

fn wires<'a>(fields: &'a [&'a Field]) -> impl Iterator<Item = &'a str> {
    fields.iter().map(|field| field.wire.as_str())
}
