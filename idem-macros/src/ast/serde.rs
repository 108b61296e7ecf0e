//! What `#[serde(..)]` says about names and about what is written.
//!
//! Mistakes in these attributes are serde's to report, so this reader passes over what it
//! does not know.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, LitStr, Token, parenthesized, token};

use super::case::Rule;
use crate::symbol::SERDE;

/// The serde attributes of one item, variant or field.
#[derive(Default)]
pub(crate) struct Serde {
    rename: Pair<String>,
    rename_all: Pair<Rule>,
    rename_all_fields: Pair<Rule>,
    /// Options that may stand in the way of a key.
    pub(crate) facts: Vec<Fact>,
    /// Where the names come from, to point at if the two differ.
    pub(crate) rename_at: Option<Span>,
    pub(crate) rename_all_at: Option<Span>,
}

/// One option, with the token to point at.
pub(crate) struct Fact {
    pub(crate) kind: FactKind,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FactKind {
    Skip,
    SkipSerializing,
    SkipDeserializing,
    /// With the path of the predicate.
    SkipSerializingIf(String),
    Flatten,
    With,
    SerializeWith,
    Alias,
    Transparent,
    Into,
    Remote,
    /// With the name of the member.
    Tag(String),
    Content,
    Untagged,
    Other,
}

/// What counts for writing and what counts for reading.
#[derive(Clone, Copy)]
struct Pair<T> {
    serialize: Option<T>,
    deserialize: Option<T>,
}

impl<T> Default for Pair<T> {
    fn default() -> Self {
        Self {
            serialize: None,
            deserialize: None,
        }
    }
}

impl Serde {
    pub(super) fn read(attrs: &[Attribute]) -> Self {
        let mut serde = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident(SERDE)) {
            // What stands before a syntax error was read, and serde reports the error.
            let _ = attr.parse_nested_meta(|meta| serde.option(&meta));
        }
        serde
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let span = meta.path.span();
        match name.as_str() {
            "rename" => {
                self.rename_at = Some(span);
                self.rename = pair(meta, |literal| Some(literal.value()))?;
                return Ok(());
            }
            "rename_all" => {
                self.rename_all_at = Some(span);
                self.rename_all = pair(meta, |literal| Rule::parse(&literal.value()))?;
                return Ok(());
            }
            "rename_all_fields" => {
                self.rename_all_at = Some(span);
                self.rename_all_fields = pair(meta, |literal| Rule::parse(&literal.value()))?;
                return Ok(());
            }
            _ => {}
        }
        let value = value(meta)?;
        let kind = match name.as_str() {
            "skip" => FactKind::Skip,
            "skip_serializing" => FactKind::SkipSerializing,
            "skip_deserializing" => FactKind::SkipDeserializing,
            "skip_serializing_if" => FactKind::SkipSerializingIf(value.unwrap_or_default()),
            "flatten" => FactKind::Flatten,
            "with" => FactKind::With,
            "serialize_with" => FactKind::SerializeWith,
            "alias" => FactKind::Alias,
            "transparent" => FactKind::Transparent,
            "into" => FactKind::Into,
            "remote" => FactKind::Remote,
            "tag" => FactKind::Tag(value.unwrap_or_default()),
            "content" => FactKind::Content,
            "untagged" => FactKind::Untagged,
            "other" => FactKind::Other,
            _ => return Ok(()),
        };
        self.facts.push(Fact { kind, span });
        Ok(())
    }

    /// The rule for the fields of a struct with these attributes.
    pub(super) fn struct_rule(&self) -> FieldRule {
        FieldRule(self.rename_all)
    }

    /// The rule for the fields of a variant with these attributes; the variant's own goes
    /// before that of its enum.
    pub(super) fn variant_rule(&self, item: &Self) -> FieldRule {
        FieldRule(Pair {
            serialize: self.rename_all.serialize.or(item.rename_all_fields.serialize),
            deserialize: self.rename_all.deserialize.or(item.rename_all_fields.deserialize),
        })
    }

    /// Names of a field with these attributes: as written, as read.
    pub(super) fn field_names(&self, name: &str, rule: FieldRule) -> (String, String) {
        let by_rule = |rule: Option<Rule>| rule.map_or_else(|| name.to_owned(), |it| it.field(name));
        (
            self.rename
                .serialize
                .clone()
                .unwrap_or_else(|| by_rule(rule.0.serialize)),
            self.rename
                .deserialize
                .clone()
                .unwrap_or_else(|| by_rule(rule.0.deserialize)),
        )
    }

    /// Names of a variant with these attributes: as written, as read.
    pub(super) fn variant_names(&self, name: &str, item: &Self) -> (String, String) {
        let by_rule = |rule: Option<Rule>| rule.map_or_else(|| name.to_owned(), |it| it.variant(name));
        (
            self.rename
                .serialize
                .clone()
                .unwrap_or_else(|| by_rule(item.rename_all.serialize)),
            self.rename
                .deserialize
                .clone()
                .unwrap_or_else(|| by_rule(item.rename_all.deserialize)),
        )
    }
}

/// How the fields of one struct or variant are renamed as a whole.
#[derive(Clone, Copy)]
pub(crate) struct FieldRule(Pair<Rule>);

/// Reads `= "a"` or `(serialize = "a", deserialize = "b")`.
fn pair<T: Clone>(meta: &ParseNestedMeta<'_>, read: impl Fn(&LitStr) -> Option<T>) -> syn::Result<Pair<T>> {
    if meta.input.peek(Token![=]) {
        let both = read(&meta.value()?.parse()?);
        return Ok(Pair {
            serialize: both.clone(),
            deserialize: both,
        });
    }
    let mut pair = Pair::default();
    meta.parse_nested_meta(|side| {
        let value = read(&side.value()?.parse()?);
        if side.path.is_ident("serialize") {
            pair.serialize = value;
        } else if side.path.is_ident("deserialize") {
            pair.deserialize = value;
        }
        Ok(())
    })?;
    Ok(pair)
}

/// Passes over an option's value; returns it if it is a string.
fn value(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<String>> {
    if meta.input.peek(Token![=]) {
        let value = meta.value()?;
        return if value.peek(LitStr) {
            Ok(Some(value.parse::<LitStr>()?.value()))
        } else {
            value.parse::<Expr>().map(|_| None)
        };
    }
    if meta.input.peek(token::Paren) {
        let content;
        parenthesized!(content in meta.input);
        content.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(None)
}
