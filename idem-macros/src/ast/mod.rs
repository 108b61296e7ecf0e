//! What the user wrote: fields with their wire names and marks, and the tokens to point at.

mod case;
mod field;
mod marks;
mod serde;

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Ident, Meta};

pub(crate) use self::field::{Field, by_wire_name};
pub(crate) use self::marks::{Marks, Spelling};
use self::serde::FieldRule;
pub(crate) use self::serde::{Fact, FactKind, Serde};
use crate::ctxt::Ctxt;
use crate::symbol::{CARRIER, IDEMPOTENT};

/// A struct, an enum or a union.
pub(crate) struct Item {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) serde: Serde,
    pub(crate) marks: Marks,
    /// Arguments of the attribute, if the item carries them.
    pub(crate) carried: Option<TokenStream>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Struct(Box<Form>),
    Enum(Vec<Form>),
    Union(Span),
}

/// A struct's or a variant's fields.
pub(crate) struct Form {
    /// Name of the struct or of the variant.
    pub(crate) ident: Ident,
    /// Name of the variant on the wire, as serde writes it.
    pub(crate) wire: String,
    /// Name of the variant on the wire, as serde reads it.
    pub(crate) read_as: String,
    pub(crate) style: Style,
    pub(crate) fields: Vec<Field>,
    pub(crate) serde: Serde,
    pub(crate) marks: Marks,
    /// Arguments of the variant's own attribute.
    pub(crate) carried: Option<TokenStream>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Named,
    Tuple,
    Unit,
}

impl Item {
    pub(crate) fn read(cx: &Ctxt, input: DeriveInput) -> Self {
        let serde = Serde::read(&input.attrs);
        let body = match &input.data {
            // A struct's serde attributes are read once, as those of the item.
            Data::Struct(data) => Body::Struct(Box::new(Form {
                ident: input.ident.clone(),
                wire: String::new(),
                read_as: String::new(),
                style: style(&data.fields),
                fields: fields(cx, &data.fields, serde.struct_rule()),
                serde: Serde::default(),
                marks: Marks::default(),
                carried: None,
            })),
            Data::Enum(data) => Body::Enum(
                data.variants
                    .iter()
                    .map(|variant| {
                        let own = Serde::read(&variant.attrs);
                        let name = variant.ident.unraw().to_string();
                        let (wire, read_as) = own.variant_names(&name, &serde);
                        Form {
                            ident: variant.ident.clone(),
                            wire,
                            read_as,
                            style: style(&variant.fields),
                            fields: fields(cx, &variant.fields, own.variant_rule(&serde)),
                            serde: own,
                            marks: Marks::read(cx, &variant.attrs),
                            carried: carried(cx, &variant.attrs),
                        }
                    })
                    .collect(),
            ),
            Data::Union(data) => Body::Union(data.union_token.span),
        };
        Self {
            serde,
            marks: Marks::read(cx, &input.attrs),
            carried: carried(cx, &input.attrs),
            body,
            ident: input.ident,
            generics: input.generics,
        }
    }
}

impl Item {
    /// The struct itself, or the variants.
    pub(crate) fn forms(&self) -> Vec<&Form> {
        match &self.body {
            Body::Struct(form) => vec![form],
            Body::Enum(forms) => forms.iter().collect(),
            Body::Union(_) => Vec::new(),
        }
    }
}

impl Form {
    /// Finds a field by its Rust name.
    pub(crate) fn field(&self, name: &Ident) -> Option<&Field> {
        let name = name.unraw().to_string();
        self.fields.iter().find(|field| field.name() == name)
    }
}

fn style(fields: &Fields) -> Style {
    match fields {
        Fields::Named(_) => Style::Named,
        Fields::Unnamed(_) => Style::Tuple,
        Fields::Unit => Style::Unit,
    }
}

fn fields(cx: &Ctxt, fields: &Fields, rule: FieldRule) -> Vec<Field> {
    fields
        .iter()
        .enumerate()
        .map(|(index, field)| Field::read(cx, index, field, rule))
        .collect()
}

fn carried(cx: &Ctxt, attrs: &[Attribute]) -> Option<TokenStream> {
    let mut carriers = attrs.iter().filter(|attr| attr.path().is_ident(CARRIER));
    let first = carriers.next()?;
    for second in carriers {
        cx.error(
            second.path(),
            format!("`#[{IDEMPOTENT}]` is given twice\nhelp: put all options into one"),
        );
    }
    Some(match &first.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    })
}

#[cfg(test)]
mod tests;
