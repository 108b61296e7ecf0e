//! The macros of [`idem`](https://docs.rs/idem-rs), which re-exports and documents them.
//!
//! The stages are the same for each macro: the arguments are read (`args`), the item is
//! read (`ast`), everything that is wrong is collected (`check`), and only if nothing is
//! wrong code is generated (`expand`); otherwise the messages and stubs (`fallback`).

mod args;
mod ast;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod plan;
mod root;
mod suggest;
mod symbol;

use proc_macro::TokenStream;

#[expect(
    missing_docs,
    reason = "documented on the re-export, where its examples compile: docs/attribute.md"
)]
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(args.into(), item.into()).into()
}

/// Lets a struct or enum be part of a key.
///
/// Each field is in the identity unless it is `#[transient]`; once some are marked `#[key]`, each other one must be
/// `#[transient]`. Values are written as serde writes them by default, under the names that serde writes. The attribute
/// `idempotent` says more, with an example.
#[proc_macro_derive(KeyField, attributes(key, transient, basis))]
pub fn key_field(input: TokenStream) -> TokenStream {
    expand::key_field(input.into()).into()
}

/// What `#[idempotent]` attaches. Not to be written by hand.
#[doc(hidden)]
#[proc_macro_derive(__IdempotentFields, attributes(__idempotent, key, transient, basis))]
pub fn idempotent_fields(input: TokenStream) -> TokenStream {
    expand::idempotent(input.into()).into()
}
