//! `IdempotentFields`, `Idempotent` and `TenantKnown` of an `#[idempotent]` type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned as _;

use super::bounds::Bounds;
use super::field::{self, InKey, written};
use super::{binding, schema, sequence};
use crate::ast::{Body, Field, Item};
use crate::plan::{Plan, Previous, TenantPlan};
use crate::root::Root;

pub(super) fn impls(
    item: &Item,
    plans: &[Plan<'_>],
    pin: Option<&LitStr>,
    previous: Option<&Previous>,
    root: &Root,
) -> TokenStream {
    let writer = Writer {
        is_enum: matches!(item.body, Body::Enum(_)),
        plans,
    };
    let bounds = writer.bounds(item);
    // The span of the derive lets a deprecated type be named without a warning.
    let mut name = item.ident.clone();
    name.set_span(Span::call_site());
    let (impl_generics, ty_generics, where_clause) = bounds.generics().split_for_impl();
    let schema = schema::constant(item, plans, writer.is_enum);
    let methods = [
        Some(writer.tenant()),
        Some(writer.members("key_members", |plan| &plan.key)),
        Some(writer.members("payload_members", |plan| &plan.payload)),
        writer.basis(),
        writer.subject(),
        writer.once_per(),
    ];
    let previous = previous.map(self::previous);
    let idempotent = writer.action().map(|method| {
        quote! {
            #[automatically_derived]
            impl #impl_generics __idem::Idempotent for #name #ty_generics #where_clause { #method #previous }
        }
    });
    let tenant_known = writer.knows_its_tenant().then(|| {
        quote! {
            impl #impl_generics __idem::TenantKnown<__idem::FromType> for #name #ty_generics #where_clause {}
        }
    });
    let pinned = pin.map(|pin| schema::check(item, pin));
    super::scoped(
        root,
        &item.generics,
        quote! {
            #[automatically_derived]
            impl #impl_generics __idem::IdempotentFields for #name #ty_generics #where_clause { #schema #(#methods)* }
            #idempotent
            #tenant_known
            #pinned
        },
    )
}

/// The type is given with the user's own tokens, so that a message about it points there.
fn previous(Previous { ty, millis }: &Previous) -> TokenStream {
    let from = quote_spanned!(ty.span()=> <#ty as ::core::convert::From<&Self>>::from(self));
    let derived = quote_spanned!(ty.span()=> __idem::previous::<Self, #ty>(&#from, __idem_tenant));
    quote! {
        const PREVIOUS_UNTIL: ::core::option::Option<__idem::Timestamp> =
            ::core::option::Option::Some(__idem::Timestamp::from_millis(#millis));
        fn previous(&self, __idem_tenant: ::core::option::Option<&__idem::Tenant>) -> __idem::PreviousKey { #derived }
    }
}

struct Writer<'a> {
    is_enum: bool,
    plans: &'a [Plan<'a>],
}

/// A method's body for one struct or variant, with the fields it uses.
struct Arm<'a> {
    uses: Vec<&'a Field>,
    body: TokenStream,
}

impl<'a> Writer<'a> {
    fn bounds(&self, item: &Item) -> Bounds {
        let mut bounds = Bounds::of(item);
        for plan in self.plans {
            let places = plan.once_per.iter().flatten();
            let key = plan.key.iter().filter(|field| !plan.is_tenant(field));
            for field in key.chain(&plan.subject).chain(places) {
                field::bind(&mut bounds, field);
            }
            if let TenantPlan::Field(field) = plan.tenant {
                bounds.demand(&field.ty, &quote!(__idem::TenantField));
            }
            for field in plan.payload.iter().chain(&plan.basis) {
                bounds.demand(&field.ty, &quote!(__idem::Serialize));
            }
        }
        bounds
    }

    fn tenant(&self) -> TokenStream {
        let body = self.dispatch(|plan| match plan.tenant {
            TenantPlan::Field(field) => {
                let (ty, path, value) = (&field.ty, &field.wire, self.value(field));
                Arm {
                    uses: vec![field],
                    body: quote!(<#ty as __idem::TenantField>::__source(#value, #path)),
                }
            }
            TenantPlan::None => Arm::without_fields(quote!(__idem::TenantSource::None)),
            TenantPlan::Call => Arm::without_fields(quote!(__idem::TenantSource::Call)),
        });
        quote! {
            fn tenant(&self) -> __idem::TenantSource<'_> { #body }
        }
    }

    fn members(&self, name: &str, fields: impl Fn(&'a Plan<'a>) -> &'a Vec<&'a Field>) -> TokenStream {
        let is_key = name == "key_members";
        let name = Ident::new(name, Span::call_site());
        let is_used = self.plans.iter().any(|plan| !fields(plan).is_empty());
        let out = if is_used { quote!(__idem_w) } else { quote!(_) };
        let body = self.dispatch(|plan| {
            let fields = fields(plan);
            let calls = fields.iter().map(|field| match is_key {
                true if plan.is_tenant(field) => self.tenant_member(field),
                true => self.key_member(field),
                false => self.value_member(field),
            });
            Arm {
                uses: fields.clone(),
                body: sequence(calls.collect()),
            }
        });
        quote! {
            fn #name(&self, #out: &mut __idem::Out<'_>) -> __idem::Written { #body }
        }
    }

    fn key_member(&self, field: &Field) -> TokenStream {
        InKey::new(field, self.value(field)).member(&field.wire)
    }

    fn tenant_member(&self, field: &Field) -> TokenStream {
        let (ty, wire, value) = (&field.ty, &field.wire, self.value(field));
        match written(wire) {
            Some(written) => quote!(<#ty as __idem::TenantField>::__to(#value, #written, __idem_w)),
            None => quote!(<#ty as __idem::TenantField>::__member(#value, #wire, __idem_w)),
        }
    }

    /// The type is spelled out, and the method has the place of the field's name, so that a message points at the
    /// user's own tokens.
    fn value_member(&self, field: &Field) -> TokenStream {
        let (ty, wire, value) = (&field.ty, &field.wire, self.value(field));
        let (method, name) = match written(wire) {
            Some(written) => ("__value", written),
            None => ("value", wire.clone()),
        };
        let method = Ident::new(method, field.span());
        quote!(__idem_w.#method::<#ty>(#name, #value))
    }

    fn basis(&self) -> Option<TokenStream> {
        self.plans
            .iter()
            .any(|plan| !plan.basis.is_empty())
            .then(|| self.members("basis_members", |plan| &plan.basis))
    }

    fn subject(&self) -> Option<TokenStream> {
        if self.plans.iter().all(|plan| plan.subject.is_none()) {
            return None;
        }
        let body = self.dispatch(|plan| match plan.subject {
            Some(field) => Arm {
                uses: vec![field],
                body: InKey::new(field, self.value(field)).subject(&field.wire),
            },
            None => Arm::without_fields(quote!(::core::result::Result::Ok(::core::option::Option::None))),
        });
        Some(quote! {
            fn subject(&self) -> __idem::SubjectText { #body }
        })
    }

    fn once_per(&self) -> Option<TokenStream> {
        if self.plans.iter().all(|plan| plan.once_per.is_none()) {
            return None;
        }
        let body = self.dispatch(|plan| match &plan.once_per {
            Some(fields) => {
                let calls = fields.iter().map(|field| self.key_member(field));
                Arm {
                    uses: fields.clone(),
                    body: quote!(#(#calls?;)* ::core::result::Result::Ok(true)),
                }
            }
            None => Arm::without_fields(quote!(::core::result::Result::Ok(false))),
        });
        Some(quote! {
            fn once_per(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Placed { #body }
        })
    }

    /// Variants have an action all or none.
    fn action(&self) -> Option<TokenStream> {
        self.plans.iter().all(|plan| plan.action.is_some()).then(|| {
            let body = self.dispatch(|plan| {
                let action = &plan.action;
                Arm::without_fields(quote!(#action))
            });
            quote!(fn action(&self) -> &str { #body })
        })
    }

    fn knows_its_tenant(&self) -> bool {
        self.plans.iter().all(|plan| !matches!(plan.tenant, TenantPlan::Call))
    }

    /// A reference to a field's value.
    fn value(&self, field: &Field) -> TokenStream {
        if self.is_enum {
            let binding = binding(field);
            quote!(#binding)
        } else {
            let member = &field.member;
            quote!(&self.#member)
        }
    }

    /// Chooses the variant, if there are any.
    fn dispatch(&self, arm: impl Fn(&'a Plan<'a>) -> Arm<'a>) -> TokenStream {
        if !self.is_enum {
            return self.plans.iter().map(|plan| arm(plan).body).collect();
        }
        let arms = self.plans.iter().map(|plan| {
            let variant = &plan.form.ident;
            let Arm { uses, body } = arm(plan);
            let members = uses.iter().map(|field| &field.member);
            let bindings = uses.iter().map(|field| binding(field));
            quote!(Self::#variant { #(#members: #bindings,)* .. } => { #body })
        });
        quote!(match self { #(#arms)* })
    }
}

impl Arm<'_> {
    fn without_fields(body: TokenStream) -> Self {
        Self { uses: Vec::new(), body }
    }
}
