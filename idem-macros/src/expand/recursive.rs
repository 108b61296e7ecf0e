//! Types that hold themselves.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// Writes a stand-in for each `own` in a type: `Vec<Tree<T>>` becomes `Vec<Recursive>` in `Tree`.
pub(super) fn without_itself(ty: TokenStream, own: &str) -> TokenStream {
    let mut written: Vec<TokenTree> = Vec::new();
    let mut tokens = ty.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == own || ident == "Self" => {
                // `Self::Id` and the module `tree::` are something else.
                if tokens.peek().is_some_and(|next| is(next, ':')) {
                    written.push(ident.into());
                    continue;
                }
                let path_begins = path_begins(&written);
                written.truncate(path_begins);
                written.extend(quote!(__idem::Recursive));
                skip_arguments(&mut tokens);
            }
            TokenTree::Group(group) => {
                let inside = without_itself(group.stream(), own);
                let mut copy = proc_macro2::Group::new(group.delimiter(), inside);
                copy.set_span(group.span());
                written.push(copy.into());
            }
            other => written.push(other),
        }
    }
    written.into_iter().collect()
}

/// Finds where the path begins whose last segment comes next.
fn path_begins(written: &[TokenTree]) -> usize {
    let mut begins = written.len();
    while let [.., colon, _] = &written[..begins]
        && is(colon, ':')
    {
        begins -= 2;
        if matches!(written[..begins].last(), Some(TokenTree::Ident(_))) {
            begins -= 1;
        }
    }
    begins
}

fn skip_arguments(tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>) {
    let mut depth = 0;
    while let Some(next) = tokens.peek() {
        match () {
            () if is(next, '<') => depth += 1,
            () if depth == 0 => return,
            () if is(next, '>') => depth -= 1,
            () => {}
        }
        tokens.next();
        if depth == 0 {
            return;
        }
    }
}

fn is(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == punct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(ty: TokenStream, expected: TokenStream) {
        assert_eq!(without_itself(ty, "Tree").to_string(), expected.to_string());
    }

    #[test]
    fn a_type_inside_itself_is_replaced_wherever_it_stands() {
        becomes(quote!(Vec<Tree<T, Vec<u8>>>), quote!(Vec<__idem::Recursive>));
        becomes(quote!(Option<Box<Self>>), quote!(Option<Box<__idem::Recursive>>));
        becomes(
            quote!((Tree, [crate::a::Tree; 2], u8)),
            quote!((__idem::Recursive, [__idem::Recursive; 2], u8)),
        );
        becomes(quote!(::a::Tree<'a>), quote!(__idem::Recursive));
        becomes(
            quote!(Map<String, super::Tree<T>>),
            quote!(Map<String, __idem::Recursive>),
        );
    }

    #[test]
    fn other_types_stay() {
        for ty in [quote!(Self::Id), quote!(Vec<Trees>), quote!(Tree::Id), quote!(&'a str)] {
            becomes(ty.clone(), ty);
        }
    }
}
