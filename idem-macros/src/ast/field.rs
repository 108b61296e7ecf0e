//! One field.

use std::cmp::Ordering;

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Index, Member, Type};

use super::serde::FieldRule;
use super::{Marks, Serde};
use crate::ctxt::Ctxt;

pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    /// Its name on the wire, as serde writes it. A tuple's field has its position.
    pub(crate) wire: String,
    /// Its name on the wire, as serde reads it.
    pub(crate) read_as: String,
    pub(crate) serde: Serde,
    pub(crate) marks: Marks,
}

impl Field {
    pub(super) fn read(cx: &Ctxt, index: usize, field: &syn::Field, rule: FieldRule) -> Self {
        let serde = Serde::read(&field.attrs);
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                span: field.ty.span(),
            }),
        };
        let (wire, read_as) = match &field.ident {
            Some(ident) => serde.field_names(&ident.unraw().to_string(), rule),
            None => (index.to_string(), index.to_string()),
        };
        Self {
            member,
            ty: field.ty.clone(),
            wire,
            read_as,
            serde,
            marks: Marks::read(cx, &field.attrs),
        }
    }

    /// Where to point at it: its name, or its type if it has none.
    pub(crate) fn span(&self) -> Span {
        match &self.member {
            Member::Named(ident) => ident.span(),
            Member::Unnamed(index) => index.span,
        }
    }

    /// Its name in Rust, without `r#`.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(ident) => ident.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

/// RFC 8785 sorts members by the UTF-16 units of their names, which is not the order of
/// `str`: characters from U+10000 on come before U+E000.
pub(crate) fn by_wire_name(a: &Field, b: &Field) -> Ordering {
    a.wire.encode_utf16().cmp(b.wire.encode_utf16())
}
