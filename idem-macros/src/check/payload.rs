//! The payload.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;

use crate::ast::Field;
use crate::ctxt::Ctxt;

/// A hash set is written in another order by each instance, so equal payloads would be taken
/// for different ones and retries refused. Maps are fine: their names get sorted. Seen by
/// name, because `Serialize` tells nothing about order; a set behind an alias gets through.
pub(super) fn no_hash_set(cx: &Ctxt, field: &Field) {
    if let Some(ident) = hash_set(field.ty.to_token_stream()) {
        cx.error(
            &ident,
            format!(
                "`{ident}` in payload field `{}` is written in another order each time, so that a true retry would be refused as a mismatch\nhelp: use `BTreeSet`, a sorted `Vec`, or mark the field `#[transient]`",
                field.name()
            ),
        );
    }
}

/// Finds the first hash set, however deep in the type.
fn hash_set(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident.to_string().ends_with("HashSet") => Some(ident),
        TokenTree::Group(group) => hash_set(group.stream()),
        _ => None,
    })
}
