//! Bounds that generic types need.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Type, WherePredicate, parse_quote};

use crate::ast::Item;

/// The where clause of the item, with the bounds its fields need.
pub(super) struct Bounds {
    generics: Generics,
    own: String,
    parameters: HashSet<String>,
    seen: HashSet<String>,
}

impl Bounds {
    pub(super) fn of(item: &Item) -> Self {
        Self {
            generics: item.generics.clone(),
            own: item.ident.to_string(),
            parameters: item
                .generics
                .type_params()
                .map(|parameter| parameter.ident.to_string())
                .collect(),
            seen: HashSet::new(),
        }
    }

    /// Demands `ty: bound` if `ty` depends on a type parameter. Elsewhere the compiler looks
    /// at the type itself, and a bound would only move the message away from the field.
    pub(super) fn demand(&mut self, ty: &Type, bound: &TokenStream) {
        self.demand_or(ty, bound, bound);
    }

    /// The same, with what to demand of the parameters where `ty` cannot be bound as a whole.
    pub(super) fn demand_or(&mut self, ty: &Type, bound: &TokenStream, of_parameters: &TokenStream) {
        let mut found = Mentions::default();
        found.collect(ty.to_token_stream(), self);
        if found.generic.is_empty() {
            return;
        }
        if found.own || found.tuple {
            // `Vec<Tree<T>>: KeyField` would hold only if it held, and a tuple implements
            // `KeyField` by the markers of its parts, which cannot be named here.
            for ty in found.generic {
                self.push(parse_quote!(#ty: #of_parameters));
            }
        } else {
            self.push(parse_quote!(#ty: #bound));
        }
    }

    pub(super) fn generics(&self) -> &Generics {
        &self.generics
    }

    fn push(&mut self, predicate: WherePredicate) {
        if self.seen.insert(quote!(#predicate).to_string()) {
            self.generics.make_where_clause().predicates.push(predicate);
        }
    }
}

/// What a type mentions.
#[derive(Default)]
struct Mentions {
    own: bool,
    tuple: bool,
    /// Type parameters and their associated types: `T`, `T::Id`.
    generic: Vec<TokenStream>,
}

impl Mentions {
    fn collect(&mut self, tokens: TokenStream, bounds: &Bounds) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    self.tuple |= group.delimiter() == Delimiter::Parenthesis;
                    self.collect(group.stream(), bounds);
                }
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.own |= name == bounds.own || name == "Self";
                    if bounds.parameters.contains(&name) {
                        let mut path = quote!(#ident);
                        let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ':');
                        while let Some(colon) = tokens.next_if(is_colon) {
                            path.extend([colon]);
                            path.extend(tokens.next_if(is_colon));
                            path.extend(tokens.next());
                        }
                        self.generic.push(path);
                    }
                }
                _ => {}
            }
        }
    }
}
