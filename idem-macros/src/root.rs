//! The crate that expansions refer to.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use crate::symbol::HIDDEN_DERIVE;

/// `::idem`, or what `crate = ..` says.
pub(crate) struct Root(TokenStream);

impl Root {
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self(path.map_or_else(|| quote!(::idem), |path| quote!(#path)))
    }

    /// Where the traits and helpers are.
    pub(crate) fn private(&self) -> TokenStream {
        let root = &self.0;
        quote!(#root::__private)
    }

    /// Where the hidden derive is.
    ///
    /// `idem_core` does not know the macros, so whoever names it as the root has
    /// `idem_macros` as a direct dependency.
    pub(crate) fn hidden_derive(&self, given: Option<&Path>) -> TokenStream {
        let name = proc_macro2::Ident::new(HIDDEN_DERIVE, proc_macro2::Span::call_site());
        let is_core = given
            .and_then(|path| path.segments.last())
            .is_some_and(|last| last.ident == "idem_core");
        if is_core {
            quote!(::idem_macros::#name)
        } else {
            let private = self.private();
            quote!(#private::#name)
        }
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn derive(path: Option<Path>) -> String {
        Root::new(path.as_ref())
            .hidden_derive(path.as_ref())
            .to_string()
            .replace(' ', "")
    }

    #[test]
    fn the_hidden_derive_is_found_beside_the_facade_or_beside_the_core() {
        assert_eq!(derive(None), "::idem::__private::__IdempotentFields");
        assert_eq!(
            derive(Some(parse_quote!(crate::vendored::idem))),
            "crate::vendored::idem::__private::__IdempotentFields"
        );
        assert_eq!(
            derive(Some(parse_quote!(::idem_core))),
            "::idem_macros::__IdempotentFields"
        );
    }
}
