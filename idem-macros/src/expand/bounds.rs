//! Bounds that generic types need.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
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
        let mut found = Mentions::default();
        found.collect(ty.to_token_stream(), self);
        if found.parameters.is_empty() {
            return;
        }
        if found.own {
            // `Vec<Tree<T>>: KeyField` would hold only if it held.
            for parameter in found.parameters {
                let parameter = proc_macro2::Ident::new(&parameter, proc_macro2::Span::call_site());
                self.push(parse_quote!(#parameter: #bound));
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
    parameters: Vec<String>,
}

impl Mentions {
    fn collect(&mut self, tokens: TokenStream, bounds: &Bounds) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.collect(group.stream(), bounds),
                TokenTree::Ident(ident) => {
                    let ident = ident.to_string();
                    self.own |= ident == bounds.own || ident == "Self";
                    if bounds.parameters.contains(&ident) {
                        self.parameters.push(ident);
                    }
                }
                _ => {}
            }
        }
    }
}
