//! Expansions against the snapshots in `tests/snapshots`, and what holds for each of them.
//!
//! Each `name.rs` there is an input, and `name.expanded.rs` what becomes of it. After a
//! change that is meant, rewrite them and read the difference:
//!
//! ```text
//! IDEM_SNAPSHOTS=rewrite cargo test -p idem-macros snapshots
//! ```

use std::collections::HashSet;
use std::path::PathBuf;
use std::{env, fs};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse_quote;

use super::*;

struct Snapshot {
    path: PathBuf,
    input: syn::File,
    expanded: TokenStream,
}

fn snapshots() -> Vec<Snapshot> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .filter(|path| !path.to_string_lossy().ends_with(".expanded.rs"))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let input = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
            let expanded = input.items.iter().map(expand).collect();
            Snapshot { path, input, expanded }
        })
        .collect()
}

/// Does to an item what the compiler does: the attribute first, then the derive it attached.
fn expand(item: &syn::Item) -> TokenStream {
    let mut input: DeriveInput = parse_quote!(#item);
    let Some(at) = input.attrs.iter().position(|it| it.path().is_ident("idempotent")) else {
        return key_field(quote!(#input));
    };
    let args = match input.attrs.remove(at).meta {
        syn::Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    idempotent(attribute(args, quote!(#input)))
}

fn formatted(expanded: &TokenStream) -> String {
    prettyplease::unparse(&parse_quote!(#expanded))
}

#[test]
fn expansions_are_those_of_the_snapshots() {
    let rewrite = env::var_os("IDEM_SNAPSHOTS").is_some_and(|it| it == "rewrite");
    for snapshot in snapshots() {
        let path = snapshot.path.with_extension("expanded.rs");
        let actual = formatted(&snapshot.expanded);
        if rewrite {
            fs::write(&path, actual).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            actual,
            expected,
            "{} differs; if that is meant: IDEM_SNAPSHOTS=rewrite cargo test -p idem-macros snapshots",
            path.display()
        );
    }
}

#[test]
fn a_flat_struct_expands_to_few_lines() {
    let flat = snapshots()
        .into_iter()
        .find(|it| it.path.ends_with("flat_struct.rs"))
        .unwrap();
    let lines = formatted(&flat.expanded).lines().count();
    assert!(lines < 40, "{lines} lines");
}

#[test]
fn no_bare_identifier_leaks_into_the_users_scope() {
    for snapshot in snapshots() {
        let mut known = Known::default();
        known.learn(snapshot.input.to_token_stream());
        let leaks = known.leaks(snapshot.expanded);
        assert!(leaks.is_empty(), "{}: {leaks:?}", snapshot.path.display());
    }
}

#[test]
fn the_check_for_leaks_finds_leaks() {
    let known = Known::default();
    for leak in [
        quote!(let a = 1;),
        quote!(Ok(())),
        quote!(core::result::Result::Ok(())),
        quote!(fn a(b: u8)),
        quote!(impl Clone for ::a::B {}),
    ] {
        assert!(!known.leaks(leak.clone()).is_empty(), "{leak}");
    }
}

/// Identifiers that are no leak because the user wrote them.
#[derive(Default)]
struct Known(HashSet<String>);

impl Known {
    fn learn(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    self.0.insert(ident.to_string());
                }
                TokenTree::Group(group) => self.learn(group.stream()),
                _ => {}
            }
        }
    }

    /// What is neither the user's, nor a keyword or primitive, nor named `__idem*`, nor behind
    /// an absolute path, nor a method or a field.
    fn leaks(&self, tokens: TokenStream) -> Vec<String> {
        const WORDS: &[&str] = &[
            "impl", "for", "where", "fn", "self", "Self", "mut", "match", "struct", "let", "bool", "str", "true",
            "false", "const", "as", "use", "_",
        ];
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut leaks = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let ident = match token {
                TokenTree::Group(group) => {
                    let is_attribute = index > 0 && is_punct(&tokens[index - 1], '#');
                    if !is_attribute {
                        leaks.extend(self.leaks(group.stream()));
                    }
                    continue;
                }
                TokenTree::Ident(ident) => ident.to_string(),
                _ => continue,
            };
            let before = index.checked_sub(1).map(|it| &tokens[it]);
            let is_qualified = before.is_some_and(|it| is_punct(it, ':') || is_punct(it, '.') || is_punct(it, '\''));
            let is_method =
                before.is_some_and(|it| matches!(it, TokenTree::Ident(word) if word == "fn" || word == "const"));
            let is_fine = WORDS.contains(&ident.as_str())
                || ident.to_lowercase().starts_with("__idem")
                || self.0.contains(&ident)
                || is_qualified
                || is_method;
            if !is_fine {
                leaks.push(ident);
            }
        }
        leaks
    }
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

mod bounds {
    use syn::WhereClause;

    use super::*;
    use crate::expand::bounds::Bounds;

    #[track_caller]
    fn demands(input: DeriveInput, expected: Option<WhereClause>) {
        let cx = Ctxt::new();
        let item = Item::read(&cx, input);
        let mut bounds = Bounds::of(&item);
        let Body::Struct(form) = &item.body else {
            panic!("not a struct")
        };
        for field in &form.fields {
            bounds.demand(&field.ty, &quote!(Bound));
        }
        cx.check().unwrap();
        let actual = &bounds.generics().where_clause;
        assert_eq!(quote!(#actual).to_string(), quote!(#expected).to_string());
    }

    #[test]
    fn only_types_that_depend_on_a_parameter_are_bound() {
        demands(
            parse_quote!(
                struct A<'a> {
                    a: &'a str,
                    b: Vec<u8>,
                }
            ),
            None,
        );
        demands(
            parse_quote!(
                struct A<'a, T, U>
                where
                    T: 'a,
                {
                    a: &'a T,
                    b: Vec<Option<T>>,
                    c: u8,
                    d: T,
                    e: T,
                    f: U::Id,
                }
            ),
            Some(parse_quote!(where T: 'a, &'a T: Bound, Vec<Option<T>>: Bound, T: Bound, U::Id: Bound)),
        );
    }

    #[test]
    fn a_type_that_holds_itself_binds_its_parameters() {
        demands(
            parse_quote!(
                struct Tree<T, U: Has> {
                    a: Vec<Tree<T, U::Id>>,
                }
            ),
            Some(parse_quote!(where T: Bound, U::Id: Bound)),
        );
    }

    #[test]
    fn a_tuple_binds_its_parameters() {
        demands(
            parse_quote!(
                struct A<T, U> {
                    a: Vec<(T, u8, U)>,
                }
            ),
            Some(parse_quote!(where T: Bound, U: Bound)),
        );
    }
}
