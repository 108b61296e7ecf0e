//! `IdempotentFields`, `Idempotent` and `TenantKnown` of an `#[idempotent]` type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::bounds::Bounds;
use super::{binding, sequence};
use crate::ast::{Body, Field, Item};
use crate::plan::{Plan, TenantPlan};
use crate::root::Root;

pub(super) fn impls(item: &Item, plans: &[Plan<'_>], root: &Root) -> TokenStream {
    let writer = Writer {
        is_enum: matches!(item.body, Body::Enum(_)),
        plans,
        private: root.private(),
    };
    let bounds = writer.bounds(item);
    // The span of the derive lets a deprecated type be named without a warning.
    let mut name = item.ident.clone();
    name.set_span(Span::call_site());
    let (impl_generics, ty_generics, where_clause) = bounds.generics().split_for_impl();
    let private = &writer.private;
    let methods = [
        Some(writer.tenant()),
        Some(writer.members("key_members", |plan| &plan.key)),
        Some(writer.members("payload_members", |plan| &plan.payload)),
        writer.basis(),
        writer.subject(),
        writer.once_per(),
    ];
    // The types of fields, which may be deprecated, are named in bodies and in where clauses.
    let in_where = where_clause.map(|_| quote!(#[allow(deprecated)]));
    let idempotent = writer.action().map(|method| {
        quote! {
            #[automatically_derived]
            #in_where
            impl #impl_generics #private::Idempotent for #name #ty_generics #where_clause { #method }
        }
    });
    let tenant_known = writer.knows_its_tenant().then(|| {
        quote! {
            #in_where
            impl #impl_generics #private::TenantKnown<#private::FromType> for #name #ty_generics #where_clause {}
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #private::IdempotentFields for #name #ty_generics #where_clause { #(#methods)* }
        #idempotent
        #tenant_known
    }
}

struct Writer<'a> {
    is_enum: bool,
    plans: &'a [Plan<'a>],
    private: TokenStream,
}

/// A method's body for one struct or variant, with the fields it uses.
struct Arm<'a> {
    uses: Vec<&'a Field>,
    body: TokenStream,
}

impl<'a> Writer<'a> {
    fn bounds(&self, item: &Item) -> Bounds {
        let private = &self.private;
        let mut bounds = Bounds::of(item);
        for plan in self.plans {
            let places = plan.once_per.iter().flatten();
            for field in plan.key.iter().chain(&plan.subject).chain(places) {
                bounds.demand(&field.ty, &quote!(#private::KeyField));
            }
            if let TenantPlan::Field(field) = plan.tenant {
                bounds.demand(&field.ty, &quote!(#private::TenantField));
            }
            for field in plan.payload.iter().chain(&plan.basis) {
                bounds.demand(&field.ty, &quote!(#private::Serialize));
            }
        }
        bounds
    }

    fn tenant(&self) -> TokenStream {
        let private = &self.private;
        let body = self.dispatch(|plan| match plan.tenant {
            TenantPlan::Field(field) => {
                let (ty, path, value) = (&field.ty, &field.wire, self.value(field));
                Arm {
                    uses: vec![field],
                    body: quote! {
                        #private::TenantSource::Field {
                            path: #path,
                            text: <#ty as #private::TenantField>::tenant_text(#value),
                        }
                    },
                }
            }
            TenantPlan::None => Arm::without_fields(quote!(#private::TenantSource::None)),
            TenantPlan::Call => Arm::without_fields(quote!(#private::TenantSource::Call)),
        });
        quote! {
            fn tenant(&self) -> #private::TenantSource<'_> { #body }
        }
    }

    fn members(&self, name: &str, fields: impl Fn(&'a Plan<'a>) -> &'a Vec<&'a Field>) -> TokenStream {
        let private = &self.private;
        let name = Ident::new(name, Span::call_site());
        let is_used = self.plans.iter().any(|plan| !fields(plan).is_empty());
        let out = if is_used { quote!(__idem_out) } else { quote!(_) };
        let method = |plan: &Plan<'_>, field: &Field| match name.to_string().as_str() {
            "key_members" if plan.is_tenant(field) => "tenant",
            "key_members" => "key",
            _ => "value",
        };
        let body = self.dispatch(|plan| {
            let fields = fields(plan);
            let calls = fields.iter().map(|field| self.member(method(plan, field), field));
            Arm {
                uses: fields.clone(),
                body: sequence(calls.collect()),
            }
        });
        quote! {
            fn #name(&self, #out: &mut #private::Members<'_>)
                -> ::core::result::Result<(), #private::CanonicalError>
            { #body }
        }
    }

    /// One call for one member. The type is spelled out, and the method has the place of the
    /// field's name, so that a message points at the user's own tokens.
    fn member(&self, method: &str, field: &Field) -> TokenStream {
        let (ty, wire, value) = (&field.ty, &field.wire, self.value(field));
        let method = Ident::new(method, field.span());
        if method == "value" {
            quote!(__idem_out.#method::<#ty>(#wire, #value))
        } else {
            quote!(__idem_out.#method::<_, #ty>(#wire, #value))
        }
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
        let private = &self.private;
        let body = self.dispatch(|plan| match plan.subject {
            Some(field) => {
                let (ty, wire, value) = (&field.ty, &field.wire, self.value(field));
                Arm {
                    uses: vec![field],
                    body: quote!(#private::subject_text::<_, #ty>(#wire, #value)),
                }
            }
            None => Arm::without_fields(quote!(::core::result::Result::Ok(::core::option::Option::None))),
        });
        Some(quote! {
            fn subject(&self) -> ::core::result::Result<
                ::core::option::Option<#private::String>,
                #private::CanonicalError,
            > { #body }
        })
    }

    fn once_per(&self) -> Option<TokenStream> {
        if self.plans.iter().all(|plan| plan.once_per.is_none()) {
            return None;
        }
        let private = &self.private;
        let body = self.dispatch(|plan| match &plan.once_per {
            Some(fields) => {
                let calls = fields.iter().map(|field| self.member("key", field));
                Arm {
                    uses: fields.clone(),
                    body: quote!(#(#calls?;)* ::core::result::Result::Ok(true)),
                }
            }
            None => Arm::without_fields(quote!(::core::result::Result::Ok(false))),
        });
        Some(quote! {
            fn once_per(&self, __idem_out: &mut #private::Members<'_>)
                -> ::core::result::Result<bool, #private::CanonicalError>
            { #body }
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
