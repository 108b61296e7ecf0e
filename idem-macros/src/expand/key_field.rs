//! `KeyField` of a type that derives it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use super::bounds::Bounds;
use super::{binding, sequence};
use crate::ast::{Body, Field, Item, Style};
use crate::check::Identity;
use crate::root::Root;

pub(super) fn implementation(item: &Item, identities: &[Identity<'_>], root: &Root) -> TokenStream {
    let private = root.private();
    let mut bounds = Bounds::of(item);
    for field in identities.iter().flat_map(|it| &it.fields) {
        bounds.demand(&field.ty, &quote!(#private::KeyField));
    }
    // The span of the derive lets a deprecated type be named without a warning.
    let mut name = item.ident.clone();
    name.set_span(Span::call_site());
    let (impl_generics, ty_generics, where_clause) = bounds.generics().split_for_impl();
    let (body, is_absent) = match (&item.body, identities) {
        (Body::Struct(_), [identity]) => structure(identity, &private),
        _ => (enumeration(identities, &private), None),
    };
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #private::KeyField for #name #ty_generics #where_clause {
            fn write(&self, __idem_out: &mut #private::CanonicalWriter)
                -> ::core::result::Result<(), #private::CanonicalError>
            { #body }
            #is_absent
        }
    }
}

/// A newtype is its inner value in all respects, so it is absent when that is.
fn structure(identity: &Identity<'_>, private: &TokenStream) -> (TokenStream, Option<TokenStream>) {
    let value = |field: &Field| {
        let member = &field.member;
        quote!(&self.#member)
    };
    let body = content(identity, &value, private);
    let is_absent = match (is_newtype(identity), identity.fields.as_slice()) {
        (true, [field]) => {
            let (ty, value) = (&field.ty, value(field));
            Some(quote! {
                fn is_absent(&self) -> bool {
                    <#ty as #private::KeyField<_>>::is_absent(#value)
                }
            })
        }
        _ => None,
    };
    (body, is_absent)
}

/// Externally tagged, as serde does by default.
fn enumeration(identities: &[Identity<'_>], private: &TokenStream) -> TokenStream {
    let has_data = identities.iter().any(|it| it.form.style != Style::Unit);
    let helper = has_data.then(|| {
        // `Members::key` leaves out what is absent, and a variant must not be left out with
        // its value: the name is half of the identity.
        quote! {
            struct __IdemVariant<F>(F);
            impl<F> #private::KeyField for __IdemVariant<F>
            where
                F: ::core::ops::Fn(&mut #private::CanonicalWriter)
                    -> ::core::result::Result<(), #private::CanonicalError>,
            {
                fn write(&self, __idem_out: &mut #private::CanonicalWriter)
                    -> ::core::result::Result<(), #private::CanonicalError>
                {
                    (self.0)(__idem_out)
                }
            }
        }
    });
    let arms = identities.iter().map(|identity| {
        let variant = &identity.form.ident;
        let wire = &identity.form.wire;
        if identity.form.style == Style::Unit {
            return quote!(Self::#variant => __idem_out.string(#wire),);
        }
        let members = identity.fields.iter().map(|field| &field.member);
        let bindings = identity.fields.iter().map(|field| binding(field));
        let body = content(identity, &|field| binding(field).into_token_stream(), private);
        quote! {
            Self::#variant { #(#members: #bindings,)* .. } => __idem_out.object(|__idem_out| {
                __idem_out.key(
                    #wire,
                    &__IdemVariant(|__idem_out: &mut #private::CanonicalWriter| { #body }),
                )
            }),
        }
    });
    quote!(#helper match self { #(#arms)* })
}

/// Writes the fields of a struct or variant to `__idem_out`, a `CanonicalWriter`.
fn content(identity: &Identity<'_>, value: &dyn Fn(&Field) -> TokenStream, private: &TokenStream) -> TokenStream {
    if is_newtype(identity) {
        let writes = identity.fields.iter().map(|field| {
            let (ty, value) = (&field.ty, value(field));
            quote!(<#ty as #private::KeyField<_>>::write(#value, __idem_out))
        });
        return quote!(#(#writes)*);
    }
    let (method, calls): (_, Vec<_>) = match identity.form.style {
        Style::Named => (
            "object",
            identity
                .fields
                .iter()
                .map(|field| {
                    let (ty, wire, value) = (&field.ty, &field.wire, value(field));
                    let key = Ident::new("key", field.span());
                    quote!(__idem_out.#key::<_, #ty>(#wire, #value))
                })
                .collect(),
        ),
        _ => (
            "array",
            identity
                .fields
                .iter()
                .map(|field| {
                    let (ty, value) = (&field.ty, value(field));
                    let key = Ident::new("key", field.span());
                    quote!(__idem_out.#key::<_, #ty>(#value))
                })
                .collect(),
        ),
    };
    let method = Ident::new(method, Span::call_site());
    let out = if calls.is_empty() {
        quote!(_)
    } else {
        quote!(__idem_out)
    };
    let writes = sequence(calls);
    quote!(__idem_out.#method(|#out| { #writes }))
}

/// A tuple of one is its inner value on the wire, unless the one was left out of more.
fn is_newtype(identity: &Identity<'_>) -> bool {
    identity.form.style == Style::Tuple && identity.form.fields.len() == 1 && identity.fields.len() == 1
}
