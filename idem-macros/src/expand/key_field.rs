//! `KeyField` of a type that derives it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use super::bounds::Bounds;
use super::field::{self, InKey};
use super::{binding, scoped, sequence};
use crate::ast::{Body, Field, Item, Style};
use crate::check::Identity;
use crate::root::Root;

pub(super) fn implementation(item: &Item, identities: &[Identity<'_>], root: &Root) -> TokenStream {
    let mut bounds = Bounds::of(item);
    for field in identities.iter().flat_map(|it| &it.fields) {
        field::bind(&mut bounds, field);
    }
    // The span of the derive lets a deprecated type be named without a warning.
    let mut name = item.ident.clone();
    name.set_span(Span::call_site());
    let own = item.ident.to_string();
    let (impl_generics, ty_generics, where_clause) = bounds.generics().split_for_impl();
    let (shape, body, is_absent) = match (&item.body, identities) {
        (Body::Struct(_), [identity]) => structure(identity, &own),
        _ => enumeration(identities, &own),
    };
    scoped(
        root,
        &item.generics,
        quote! {
            #[automatically_derived]
            impl #impl_generics __idem::KeyField for #name #ty_generics #where_clause {
                const SHAPE: __idem::Shape = #shape;
                fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written { #body }
                #is_absent
            }
        },
    )
}

type Parts = (TokenStream, TokenStream, Option<TokenStream>);

/// A newtype is its inner value in all respects, so it is absent when that is.
fn structure(identity: &Identity<'_>, own: &str) -> Parts {
    let value = |field: &Field| {
        let member = &field.member;
        quote!(&self.#member)
    };
    let is_absent = match (is_newtype(identity), identity.fields.as_slice()) {
        (true, [field]) => {
            let is_absent = InKey::new(field, value(field)).is_absent();
            Some(quote!(fn is_absent(&self) -> bool { #is_absent }))
        }
        _ => None,
    };
    (shape(identity, own), content(identity, &value), is_absent)
}

/// Externally tagged, as serde does by default.
fn enumeration(identities: &[Identity<'_>], own: &str) -> Parts {
    let arms = identities.iter().map(|identity| {
        let variant = &identity.form.ident;
        let wire = &identity.form.wire;
        if identity.form.style == Style::Unit {
            return quote!(Self::#variant => __idem_w.string(#wire),);
        }
        let members = identity.fields.iter().map(|field| &field.member);
        let bindings = identity.fields.iter().map(|field| binding(field));
        let body = content(identity, &|field| binding(field).into_token_stream());
        quote! {
            Self::#variant { #(#members: #bindings,)* .. } => __idem_w.variant(#wire, |__idem_w| #body),
        }
    });
    let body = quote!(match self { #(#arms)* });
    // The order in which the variants stand is in no key.
    let mut sorted: Vec<_> = identities.iter().collect();
    sorted.sort_by(|a, b| a.form.wire.cmp(&b.form.wire));
    let shapes = sorted.into_iter().map(|identity| {
        let wire = &identity.form.wire;
        let shape = shape(identity, own);
        quote!((#wire, #shape))
    });
    (quote!(__idem::Shape::variants([#(#shapes),*])), body, None)
}

/// Writes the fields of a struct or variant to `__idem_w`, a `CanonicalWriter`.
fn content(identity: &Identity<'_>, value: &dyn Fn(&Field) -> TokenStream) -> TokenStream {
    let in_key = |field: &Field| InKey::new(field, value(field));
    if is_newtype(identity) {
        return identity.fields.iter().map(|field| in_key(field).write()).collect();
    }
    let is_named = identity.form.style == Style::Named;
    let calls: Vec<_> = identity
        .fields
        .iter()
        .map(|field| match is_named {
            true => in_key(field).member(&field.wire),
            false => in_key(field).element(),
        })
        .collect();
    let method = Ident::new(if is_named { "object" } else { "array" }, Span::call_site());
    let out = if calls.is_empty() { quote!(_) } else { quote!(__idem_w) };
    let writes = sequence(calls);
    quote!(__idem_w.#method(|#out| { #writes }))
}

fn shape(identity: &Identity<'_>, own: &str) -> TokenStream {
    let shapes = identity.fields.iter().map(|field| field::shape(field, own));
    if is_newtype(identity) {
        return shapes.collect();
    }
    match identity.form.style {
        Style::Named => {
            let wires = identity.fields.iter().map(|field| &field.wire);
            quote!(__idem::Shape::object([#((#wires, #shapes)),*]))
        }
        Style::Tuple => quote!(__idem::Shape::tuple([#(#shapes),*])),
        Style::Unit => quote!(__idem::Shape::scalar("unit")),
    }
}

/// A tuple of one is its inner value on the wire, unless the one was left out of more.
fn is_newtype(identity: &Identity<'_>) -> bool {
    identity.form.style == Style::Tuple && identity.form.fields.len() == 1 && identity.fields.len() == 1
}
