//! What is generated. Nothing is decided here.

mod attribute;
mod bounds;
mod field;
mod key_field;
mod recursive;
mod schema;
mod structure;

#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Generics};

pub(crate) use self::attribute::attribute;
use crate::args::{Args, Place};
use crate::ast::{Body, Field, Item};
use crate::ctxt::Ctxt;
use crate::root::Root;
use crate::{check, fallback};

/// Expands the hidden derive of `#[idempotent(..)]`.
pub(crate) fn idempotent(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let cx = Ctxt::new();
    let item = Item::read(&cx, input);
    let place = match item.body {
        Body::Enum(_) => Place::Enum,
        _ => Place::Struct,
    };
    let args = Args::parse(&cx, item.carried.clone().unwrap_or_default(), place);
    let root = Root::new(args.root.as_ref());
    let plans = check::idempotent(&cx, &item, &args);
    let previous = check::previous(&cx, &item, &args, &plans);
    match cx.check() {
        Ok(()) => structure::impls(&item, &plans, args.pin.as_ref(), previous.as_ref(), &root),
        Err(error) => with_stub(&error, fallback::idempotent(&item, &root)),
    }
}

/// Expands `#[derive(KeyField)]`.
pub(crate) fn key_field(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let cx = Ctxt::new();
    let item = Item::read(&cx, input);
    let root = Root::new(item.marks.root.as_ref().map(|(path, _)| path));
    let plans = check::key_field(&cx, &item);
    match cx.check() {
        Ok(()) => key_field::implementation(&item, &plans, &root),
        Err(error) => with_stub(&error, fallback::key_field(&item, &root)),
    }
}

fn with_stub(error: &syn::Error, stub: TokenStream) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #stub)
}

/// Puts implementations where `__idem` is the crate's private module, so that they stay readable. They may name types
/// that are deprecated, since whoever declared the field was told, and a lifetime once.
fn scoped(root: &Root, generics: &Generics, implementations: TokenStream) -> TokenStream {
    let private = root.private();
    let has_lifetimes = generics.lifetimes().next().is_some();
    let single_use = has_lifetimes.then(|| quote!(, single_use_lifetimes));
    quote! {
        #[allow(deprecated #single_use)]
        const _: () = {
            use #private as __idem;
            #implementations
        };
    }
}

/// Fallible calls one after the other; the last one's result is that of all.
fn sequence(calls: Vec<TokenStream>) -> TokenStream {
    match calls.as_slice() {
        [] => quote!(::core::result::Result::Ok(())),
        [first @ .., last] => quote!(#(#first?;)* #last),
    }
}

/// The name to which a field of a variant is bound. No name of the user can meet it.
fn binding(field: &Field) -> Ident {
    format_ident!("__idem_{}", field.name(), span = Span::mixed_site())
}
