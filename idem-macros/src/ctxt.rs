//! Collects the mistakes of one item, so that one build shows all of them.

use std::cell::RefCell;
use std::fmt::Display;
use std::thread;

use proc_macro2::Span;
use quote::ToTokens;

/// The one place to which every stage reports a mistake.
///
/// It must be asked with [`Ctxt::check`] before it goes away: an error that is
/// collected and then forgotten would let a wrong key through.
pub(crate) struct Ctxt {
    /// `None` once it has been asked.
    errors: RefCell<Option<Vec<syn::Error>>>,
}

impl Ctxt {
    pub(crate) fn new() -> Self {
        Self {
            errors: RefCell::new(Some(Vec::new())),
        }
    }

    /// Reports a mistake on all of `tokens`.
    pub(crate) fn error(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports a mistake at `span`.
    pub(crate) fn error_at(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// Says whether nothing was reported so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors.borrow().as_ref().is_none_or(Vec::is_empty)
    }

    /// Ends the collection.
    ///
    /// # Errors
    ///
    /// All mistakes in one error, in the order in which they were reported.
    pub(crate) fn check(self) -> syn::Result<()> {
        let errors = self.errors.borrow_mut().take().unwrap_or_default();
        match errors.into_iter().reduce(|mut all, next| {
            all.combine(next);
            all
        }) {
            Some(all) => Err(all),
            None => Ok(()),
        }
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        assert!(
            thread::panicking() || self.errors.borrow().is_none(),
            "errors were collected and never looked at"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mistakes_come_out_in_order() {
        let cx = Ctxt::new();
        cx.error_at(Span::call_site(), "first");
        cx.error_at(Span::call_site(), "second");
        assert!(!cx.is_clean());
        let messages: Vec<_> = match cx.check() {
            Ok(()) => Vec::new(),
            Err(all) => all.into_iter().map(|error| error.to_string()).collect(),
        };
        assert_eq!(messages, ["first", "second"]);
    }

    #[test]
    fn nothing_reported_is_fine() {
        assert!(Ctxt::new().check().is_ok());
    }

    #[test]
    #[should_panic(expected = "never looked at")]
    fn a_context_that_nobody_asks_panics() {
        drop(Ctxt::new());
    }
}
