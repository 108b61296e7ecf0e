//! What is refused, one function for each rule, with the reason beside it.

mod class;
mod key;
mod key_field;
mod names;
mod payload;
mod pin;
mod previous;
mod serde;
mod shape;
mod spelling;
mod tenant;
mod variants;

#[cfg(test)]
mod tests;

use syn::{Ident, LitStr};

pub(crate) use self::key_field::{Identity, key_field};
use crate::args::{Args, Names, Place, Tenant};
use crate::ast::{Body, Field, Form, Item, by_wire_name};
use crate::ctxt::Ctxt;
use crate::plan::{Plan, Previous};

/// Checks an `#[idempotent]` type. The plans may be used only if `cx` stays clean.
pub(crate) fn idempotent<'a>(cx: &Ctxt, item: &'a Item, args: &Args) -> Vec<Plan<'a>> {
    serde::container(cx, item);
    shape::marks_are_on_fields(cx, item);
    spelling::options_are_in_place(cx, item, &item.forms());
    pin::is_for_one_key(cx, item, args);
    match &item.body {
        Body::Struct(form) => {
            let options = Options { own: args, item: None };
            plan(cx, item, form, &options).into_iter().collect()
        }
        Body::Enum(forms) => {
            shape::enum_has_variants(
                cx,
                item,
                forms,
                r#"#[idempotent(action = "..", key = [case_id])] Close { case_id: String }"#,
            );
            let plans: Vec<_> = forms
                .iter()
                .filter_map(|form| {
                    let tokens = variants::own_attribute(cx, form)?;
                    let own = Args::parse(cx, tokens, Place::Variant);
                    let options = Options {
                        own: &own,
                        item: Some(args),
                    };
                    plan(cx, item, form, &options)
                })
                .collect();
            // These compare variants with each other, which needs all of them as meant.
            if cx.is_clean() {
                variants::all_have_an_action_or_none(cx, &plans);
                variants::all_name_a_tenant_or_none(cx, &plans);
                variants::no_two_share_a_key(cx, &plans);
            }
            plans
        }
        Body::Union(span) => {
            shape::union(cx, *span, "idempotent");
            Vec::new()
        }
    }
}

/// Checks what an `#[idempotent]` type says of its previous definition.
pub(crate) fn previous(cx: &Ctxt, item: &Item, args: &Args, plans: &[Plan<'_>]) -> Option<Previous> {
    previous::has_an_end(cx, item, args, plans)
}

/// The options of one struct or variant, with those of its enum behind them.
struct Options<'a> {
    own: &'a Args,
    item: Option<&'a Args>,
}

impl<'a> Options<'a> {
    fn first<T>(&self, get: impl Fn(&'a Args) -> Option<T>) -> Option<T> {
        get(self.own).or_else(|| self.item.and_then(get))
    }

    fn action(&self) -> Option<&'a LitStr> {
        self.first(|args| args.action.as_ref())
    }

    fn tenant(&self) -> Option<&'a Tenant> {
        self.first(|args| args.tenant.as_ref())
    }

    fn subject(&self) -> Option<&'a Ident> {
        self.first(|args| args.subject.as_ref())
    }

    fn is_strict(&self) -> bool {
        self.first(|args| args.strict).is_some()
    }
}

fn plan<'a>(cx: &Ctxt, item: &'a Item, form: &'a Form, options: &Options<'_>) -> Option<Plan<'a>> {
    let is_variant = options.item.is_some();
    if !shape::fields_are_named(cx, form, is_variant) {
        return None;
    }
    let list = |names: &Option<Names>| {
        names
            .as_ref()
            .map(|names| names::resolve(cx, form, &names.names, &names.option))
    };
    let key = list(&options.own.key);
    let payload = list(&options.own.payload);
    let once_per = list(&options.own.once_per);
    let listed_payload = payload.unwrap_or_default();
    let subject = options.subject().and_then(|name| names::one(cx, form, name));

    if is_variant {
        serde::variant_form(cx, form);
    }
    key::is_given(cx, form, options.own, is_variant);
    let key = key.unwrap_or_default();
    class::one_for_each_field(cx, form, &key, &listed_payload);
    class::no_key_mark(cx, form, "`key = [..]` of the attribute");
    if options.is_strict() {
        class::every_field_has_one(cx, form, &key, &listed_payload);
    }

    let tenant = tenant::source(cx, form, options.tenant(), options.own, &key);
    tenant::one_source_only(cx, &key, &tenant);
    key::has_an_anchor(cx, options.own, &key, &tenant);
    key::action_is_not_a_field_too(cx, &key, options.action());
    key::names_do_not_vary_per_attempt(cx, &key, options.own);
    key::allow_is_needed(cx, options.own, form, &key);
    if let Some(places) = &once_per {
        key::place_is_stable(cx, options.own, places);
    }

    let key = sorted(key.iter().map(|it| it.field));
    let class = |has: fn(&Field) -> bool| sorted(form.fields.iter().filter(|it| has(it)));
    let payload = sorted(form.fields.iter().filter(|field| {
        field.marks.transient.is_none()
            && field.marks.basis.is_none()
            && !key.iter().any(|it| std::ptr::eq(*it, *field))
    }));
    let plan = Plan {
        form,
        action: options.action().cloned(),
        tenant,
        payload,
        basis: class(|field| field.marks.basis.is_some()),
        once_per: once_per.map(|it| sorted(it.iter().map(|it| it.field))),
        subject,
        key,
    };
    for members in [&plan.key, &plan.payload, &plan.basis] {
        names::unique_on_the_wire(cx, members);
    }
    serde::one_name_each(cx, &plan.key, form, item);
    if !is_variant {
        serde::tag_is_no_key_field(cx, item, &plan.key);
    }
    spelling::has_an_effect(cx, &plan);
    // In the order in which they stand in the source.
    for field in &form.fields {
        let is_in = |class: &[&Field]| class.iter().any(|it| std::ptr::eq(*it, field));
        spelling::display_is_of_no_float(cx, field);
        if is_in(&plan.key) {
            serde::key_field(cx, field);
        } else if is_in(&plan.payload) {
            serde::payload_field(cx, field);
            payload::no_hash_set(cx, field);
        }
    }
    Some(plan)
}

fn sorted<'a>(fields: impl Iterator<Item = &'a Field>) -> Vec<&'a Field> {
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by(|a, b| by_wire_name(a, b));
    fields
}
