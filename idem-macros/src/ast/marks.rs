//! `#[transient]`, `#[basis]` and `#[key]`.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, Meta, Path, Token};

use crate::ctxt::Ctxt;
use crate::symbol::{BASIS, KEY, TRANSIENT};

/// Where each mark stands, if it does.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) transient: Option<Span>,
    pub(crate) basis: Option<Span>,
    pub(crate) key: Option<Span>,
    /// `#[key(crate = ::path)]`.
    pub(crate) root: Option<Path>,
}

impl Marks {
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut marks = Self::default();
        for attr in attrs {
            let (name, slot) = if attr.path().is_ident(TRANSIENT) {
                (TRANSIENT, &mut marks.transient)
            } else if attr.path().is_ident(BASIS) {
                (BASIS, &mut marks.basis)
            } else if attr.path().is_ident(KEY) {
                (KEY, &mut marks.key)
            } else {
                continue;
            };
            if slot.is_some() {
                cx.error(attr.path(), format!("`#[{name}]` is given twice\nhelp: keep one"));
            }
            *slot = Some(attr.path().span());
            match root(attr) {
                Some(path) if name == KEY => marks.root = Some(path),
                _ if matches!(attr.meta, Meta::Path(_)) => {}
                _ => cx.error(
                    &attr.meta,
                    format!("`#[{name}]` takes no arguments\nhelp: write `#[{name}]`"),
                ),
            }
        }
        marks
    }
}

/// Reads `(crate = path)`.
fn root(attr: &Attribute) -> Option<Path> {
    attr.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        input.call(Path::parse_mod_style)
    })
    .ok()
}
