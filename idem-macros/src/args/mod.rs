//! Grammar of `#[idempotent(..)]`.

mod option;
mod parse;

#[cfg(test)]
mod tests;

use proc_macro2::{Span, TokenStream};
use syn::{Ident, LitStr, Path, Type};

pub(crate) use self::option::{Legal, Place};
use crate::ctxt::Ctxt;

/// The options of one `#[idempotent(..)]`, each with the tokens that gave it.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) action: Option<LitStr>,
    pub(crate) key: Option<Names>,
    pub(crate) payload: Option<Names>,
    pub(crate) once_per: Option<Names>,
    pub(crate) allow: Option<Names>,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) subject: Option<Ident>,
    pub(crate) strict: Option<Span>,
    pub(crate) pin: Option<LitStr>,
    pub(crate) previous: Option<Type>,
    pub(crate) until: Option<LitStr>,
    pub(crate) root: Option<Path>,
    /// Options that were written, well or not. What was written badly has its message
    /// already and must not be reported as missing too.
    written: Vec<&'static str>,
}

impl Args {
    /// Reads what stands between the parentheses; mistakes go to `cx`.
    pub(crate) fn parse(cx: &Ctxt, tokens: TokenStream, place: Place) -> Self {
        parse::args(cx, tokens, place)
    }

    /// Says whether an option was written, even if its value could not be read.
    pub(crate) fn mentions(&self, option: &str) -> bool {
        self.written.contains(&option)
    }
}

/// `option = [name, ..]`.
pub(crate) struct Names {
    /// The option's own name.
    pub(crate) option: Ident,
    pub(crate) names: Vec<Ident>,
    /// Something else stood there as well, and has its message.
    pub(crate) is_partial: bool,
}

/// `tenant = field` or `tenant = none`.
pub(crate) enum Tenant {
    Field(Ident),
    None,
}
