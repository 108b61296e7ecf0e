//! The attribute: attaches the hidden derive and hands its arguments on.
//!
//! An attribute sees fields before `cfg` has removed any, a derive after it. And only a
//! derive can bring helper attributes, which makes `#[transient]` legal on a field.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Meta};

use crate::args::{Args, Place};
use crate::ctxt::Ctxt;
use crate::root::Root;
use crate::symbol::{CARRIER, IDEMPOTENT};

pub(crate) fn attribute(args: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(mut input) = syn::parse2::<DeriveInput>(item.clone()) else {
        let error = not_a_type(item.clone()).into_compile_error();
        return quote!(#error #item);
    };
    let cx = Ctxt::new();
    remove_repeated(&cx, &mut input);
    if let Data::Enum(data) = &mut input.data {
        for variant in &mut data.variants {
            variant.attrs.iter_mut().for_each(carry);
        }
    }
    let path = root(args.clone());
    let derive = Root::new(path.as_ref()).hidden_derive(path.as_ref());
    let carrier = Ident::new(CARRIER, Span::call_site());
    let error = cx.check().err().map(|error| error.to_compile_error());
    quote! {
        #[derive(#derive)]
        #[#carrier(#args)]
        #input
        #error
    }
}

/// Functions, traits, modules and the like have no fields to make a key of.
fn not_a_type(item: TokenStream) -> syn::Error {
    const ITEMS: &[&str] = &[
        "fn",
        "trait",
        "impl",
        "mod",
        "const",
        "static",
        "type",
        "use",
        "macro_rules",
    ];
    let keyword = item.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ITEMS.iter().any(|it| ident == it) => Some(ident),
        _ => None,
    });
    let (span, found) = keyword.map_or_else(
        || (Span::call_site(), "this".to_owned()),
        |word| (word.span(), format!("a `{word}`")),
    );
    syn::Error::new(
        span,
        format!(
            "`#[{IDEMPOTENT}]` describes an effect by the fields of its input, and {found} has none\nhelp: put it on a struct with named fields, or on an enum whose variants have them"
        ),
    )
}

/// Reads `crate = ..` and nothing else: what is wrong with the arguments is told by the
/// derive, once.
fn root(args: TokenStream) -> Option<syn::Path> {
    let silent = Ctxt::new();
    let root = Args::parse(&silent, args, Place::Struct).root;
    drop(silent.check());
    root
}

/// A second attribute would give the type two keys.
fn remove_repeated(cx: &Ctxt, input: &mut DeriveInput) {
    input.attrs.retain(|attr| {
        let repeated = is_idempotent(attr);
        if repeated {
            cx.error(
                attr.path(),
                format!(
                    "`#[{IDEMPOTENT}]` is given twice\nhelp: put all options into one, as in `#[{IDEMPOTENT}(action = \"..\", key = [..])]`"
                ),
            );
        }
        !repeated
    });
}

/// Renames the attribute of a variant to the carrier: it has no meaning of its own, and the
/// compiler would try to expand it.
fn carry(attr: &mut Attribute) {
    if attr.path().is_ident("cfg_attr")
        && let Meta::List(list) = &mut attr.meta
    {
        list.tokens = carry_in(list.tokens.clone());
    }
    if !is_idempotent(attr) {
        return;
    }
    let name = attr
        .path()
        .segments
        .last()
        .map_or_else(Span::call_site, |last| last.ident.span());
    let carrier = Ident::new(CARRIER, name);
    match &mut attr.meta {
        Meta::Path(path) => *path = carrier.into(),
        Meta::List(list) => list.path = carrier.into(),
        Meta::NameValue(pair) => {
            // Not a legal form; the derive tells what is, with the value in its place.
            let value = pair.value.to_token_stream();
            attr.meta = syn::parse_quote!(#carrier(#value));
        }
    }
}

/// The same behind a condition, which is not decided yet.
fn carry_in(cfg_attr: TokenStream) -> TokenStream {
    cfg_attr
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == IDEMPOTENT => Ident::new(CARRIER, ident.span()).into(),
            other => other,
        })
        .collect()
}

fn is_idempotent(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == IDEMPOTENT)
}
