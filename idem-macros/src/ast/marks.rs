//! `#[transient]`, `#[basis]` and `#[key]`.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Meta, Path, Token};

use crate::ctxt::Ctxt;
use crate::suggest::nearest;
use crate::symbol::{BASIS, KEY, TRANSIENT};

/// Where each mark stands, if it does.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) transient: Option<Span>,
    pub(crate) basis: Option<Span>,
    pub(crate) key: Option<Span>,
    /// `#[key(text)]` and the like.
    pub(crate) spelling: Option<(Spelling, Span)>,
    /// `#[key(crate = ::path)]`.
    pub(crate) root: Option<(Path, Span)>,
}

/// How a field is written in a key, if not as its type says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// A large integer as a decimal string.
    Text,
    /// A collection without an order, sorted.
    Set,
    /// By its `Display`.
    Display,
}

impl Spelling {
    const ALL: [Self; 3] = [Self::Text, Self::Set, Self::Display];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Set => "set",
            Self::Display => "display",
        }
    }
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
                continue;
            }
            *slot = Some(attr.path().span());
            match &attr.meta {
                Meta::Path(_) => {}
                Meta::List(_) if name == KEY => marks.options(cx, attr),
                meta => cx.error(meta, format!("`#[{name}]` takes no arguments\nhelp: write `#[{name}]`")),
            }
        }
        marks
    }

    /// Says how the mark was written, for messages.
    pub(crate) fn key_as_written(&self) -> String {
        self.spelling.map_or_else(
            || format!("#[{KEY}]"),
            |(spelling, _)| format!("#[{KEY}({})]", spelling.name()),
        )
    }

    fn options(&mut self, cx: &Ctxt, attr: &Attribute) {
        let parsed = attr.parse_args_with(|input: ParseStream<'_>| {
            if input.is_empty() {
                return Err(syn::Error::new(
                    attr.meta.span(),
                    format!("`#[{KEY}()]` says nothing\nhelp: {FORMS}"),
                ));
            }
            while !input.is_empty() {
                self.option(cx, input)?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        });
        if let Err(error) = parsed {
            cx.push(error);
            // Something was meant; without it the field would get a second message.
            self.spelling.get_or_insert((Spelling::Text, attr.path().span()));
        }
    }

    fn option(&mut self, cx: &Ctxt, input: ParseStream<'_>) -> syn::Result<()> {
        let word = input.call(Ident::parse_any).map_err(|error| {
            syn::Error::new(
                error.span(),
                format!("this is no option of `#[{KEY}(..)]`\nhelp: {FORMS}"),
            )
        })?;
        let name = word.to_string();
        if word == "crate" {
            input.parse::<Token![=]>()?;
            self.root = Some((input.call(Path::parse_mod_style)?, word.span()));
            return Ok(());
        }
        let Some(spelling) = Spelling::ALL.into_iter().find(|it| it.name() == name) else {
            let meant = nearest(&name, ["text", "set", "display", "crate"]);
            let help = meant.map_or_else(|| FORMS.to_owned(), |meant| format!("did you mean `{meant}`?"));
            return Err(syn::Error::new(
                word.span(),
                format!("unknown option `{name}`\nhelp: {help}"),
            ));
        };
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error(format!("`{name}` takes no value\nhelp: write `#[{KEY}({name})]`")));
        }
        match self.spelling {
            None => self.spelling = Some((spelling, word.span())),
            Some((first, _)) => cx.error(
                &word,
                format!(
                    "a field is written in one way, and `{}` is given already\nhelp: keep one",
                    first.name()
                ),
            ),
        }
        Ok(())
    }
}

const FORMS: &str = "on a field write `text`, `set` or `display`; on a type that derives `KeyField`, `crate = ::path`";
