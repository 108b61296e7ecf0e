//! Implementations for an item with mistakes: they are never run, and spare the user the
//! messages about missing implementations that would follow from the one mistake.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::Item;
use crate::root::Root;

pub(crate) fn idempotent(item: &Item, root: &Root) -> TokenStream {
    let private = root.private();
    let name = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::IdempotentFields for #name #ty_generics #where_clause {
            fn tenant(&self) -> #private::TenantSource<'_> {
                ::core::unreachable!()
            }
            fn key_members(&self, _: &mut #private::Members<'_>)
                -> ::core::result::Result<(), #private::CanonicalError>
            {
                ::core::unreachable!()
            }
            fn payload_members(&self, _: &mut #private::Members<'_>)
                -> ::core::result::Result<(), #private::CanonicalError>
            {
                ::core::unreachable!()
            }
        }
        #[automatically_derived]
        impl #impl_generics #private::Idempotent for #name #ty_generics #where_clause {
            fn action(&self) -> &str {
                ::core::unreachable!()
            }
        }
        #[automatically_derived]
        impl #impl_generics #private::TenantKnown<#private::FromType> for #name #ty_generics
        #where_clause {}
    }
}

pub(crate) fn key_field(item: &Item, root: &Root) -> TokenStream {
    let private = root.private();
    let name = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::KeyField for #name #ty_generics #where_clause {
            fn write(&self, _: &mut #private::CanonicalWriter)
                -> ::core::result::Result<(), #private::CanonicalError>
            {
                ::core::unreachable!()
            }
        }
    }
}
