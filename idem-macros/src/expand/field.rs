//! One field, as the generated code names it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, PathArguments, Type};

use super::bounds::Bounds;
use super::recursive::without_itself;
use crate::ast::{Field, Spelling};

/// A field's type and a reference to its value, as they are written in a key.
///
/// Everything that a key asks of a field goes through `<ty as KeyField<_>>`, because the compiler tells a mistake about
/// one path once, however often it stands, and at the user's type.
pub(super) struct InKey {
    ty: TokenStream,
    value: TokenStream,
}

impl InKey {
    pub(super) fn new(field: &Field, value: TokenStream) -> Self {
        let ty = &field.ty;
        match wrapper(field) {
            None => Self { ty: quote!(#ty), value },
            Some(wrapper) => Self {
                ty: quote_spanned!(place(field)=> __idem::#wrapper<'_, #ty>),
                value: quote!(&__idem::#wrapper(#value)),
            },
        }
    }

    pub(super) fn member(&self, wire: &str) -> TokenStream {
        let Self { ty, value } = self;
        match written(wire) {
            Some(written) => quote!(<#ty as __idem::Key<_>>::__to(#value, #written, __idem_w)),
            None => quote!(<#ty as __idem::Key<_>>::__member(#value, #wire, __idem_w)),
        }
    }

    pub(super) fn element(&self) -> TokenStream {
        let Self { ty, value } = self;
        quote!(<#ty as __idem::Key<_>>::__element(#value, __idem_w))
    }

    pub(super) fn write(&self) -> TokenStream {
        let Self { ty, value } = self;
        quote!(<#ty as __idem::Key<_>>::write(#value, __idem_w))
    }

    pub(super) fn is_absent(&self) -> TokenStream {
        let Self { ty, value } = self;
        quote!(<#ty as __idem::Key<_>>::is_absent(#value))
    }

    pub(super) fn subject(&self, wire: &str) -> TokenStream {
        let Self { ty, value } = self;
        quote!(<#ty as __idem::Key<_>>::__subject(#value, #wire))
    }
}

/// What a pin sees of the field. The type `own`, met inside itself, would be computed for ever.
pub(super) fn shape(field: &Field, own: &str) -> TokenStream {
    let ty = without_itself(field.ty.to_token_stream(), own);
    let ty = match wrapper(field) {
        None => ty,
        Some(wrapper) => quote_spanned!(place(field)=> __idem::#wrapper<'_, #ty>),
    };
    quote!(<#ty as __idem::Key<_>>::SHAPE)
}

/// Demands of the field's type, if it has parameters, what writing it in a key needs.
pub(super) fn bind(bounds: &mut Bounds, field: &Field) {
    let ty = &field.ty;
    match field.marks.spelling {
        None => bounds.demand(ty, &quote!(__idem::KeyField)),
        Some((Spelling::Text, _)) => bounds.demand(ty, &quote!(__idem::KeyText)),
        Some((Spelling::Set, _)) => {
            bounds.demand_or(ty, &quote!(__idem::KeySet<__idem::Native>), &quote!(__idem::KeyField));
        }
        Some((Spelling::Display, _)) => {
            bounds.demand(inside_option(ty).unwrap_or(ty), &quote!(::core::fmt::Display));
        }
    }
}

/// The name of a member as it stands in an object, if it needs no escape.
pub(super) fn written(wire: &str) -> Option<String> {
    let is_plain = !wire.contains(|c: char| c < ' ' || c == '"' || c == '\\');
    is_plain.then(|| format!(",\"{wire}\":"))
}

/// An `Option` has no `Display` of its own.
fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(inner)) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

fn wrapper(field: &Field) -> Option<TokenStream> {
    field.marks.spelling.map(|(spelling, _)| match spelling {
        Spelling::Text => quote!(AsText),
        Spelling::Set => quote!(AsSet),
        Spelling::Display => quote!(AsDisplay),
    })
}

/// Messages about the wrapper are about the type inside.
fn place(field: &Field) -> Span {
    field.ty.span()
}
