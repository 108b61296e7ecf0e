//! `KEY_SCHEMA`: the definition of the key as one number.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;

use super::field;
use crate::ast::Item;
use crate::plan::{Plan, TenantPlan};

/// The constant of a struct, or of an enum over all its variants.
pub(super) fn constant(item: &Item, plans: &[Plan<'_>], is_enum: bool) -> TokenStream {
    let own = item.ident.to_string();
    let mut each = plans.iter().map(|plan| one(plan, &own));
    let schema = if is_enum {
        quote!(__idem::KeySchema::any_of([#(#each),*]))
    } else {
        each.next().unwrap_or_default()
    };
    quote!(const KEY_SCHEMA: __idem::KeySchema = #schema;)
}

fn one(plan: &Plan<'_>, own: &str) -> TokenStream {
    let action = match &plan.action {
        Some(action) => quote!(::core::option::Option::Some(#action)),
        None => quote!(::core::option::Option::None),
    };
    let tenant = match plan.tenant {
        TenantPlan::Field(field) => {
            let wire = &field.wire;
            quote!(__idem::KeyTenant::Field(#wire))
        }
        TenantPlan::None => quote!(__idem::KeyTenant::None),
        TenantPlan::Call => quote!(__idem::KeyTenant::Call),
    };
    let members = plan.key.iter().map(|field| {
        let wire = &field.wire;
        let shape = if plan.is_tenant(field) {
            quote!(__idem::Shape::text())
        } else {
            field::shape(field, own)
        };
        quote!((#wire, #shape))
    });
    quote!(__idem::KeySchema::new(#action, #tenant, [#(#members),*]))
}

/// Fails the build, at the pin, when it is not that of the schema.
pub(super) fn check(item: &Item, pin: &LitStr) -> TokenStream {
    let mut name = item.ident.clone();
    name.set_span(Span::call_site());
    let lifetimes = item.generics.lifetimes().map(|_| quote!('static));
    let arguments = item.generics.lifetimes().next().map(|_| quote!(<#(#lifetimes),*>));
    let schema = quote!(<#name #arguments as __idem::IdempotentFields>::KEY_SCHEMA);
    quote_spanned!(pin.span()=> const _: () = __idem::check_pin(#schema, #pin);)
}
