//! Reads the options one by one and goes on after a mistake, so that each is told.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Ident, LitStr, Path, Token, bracketed, token};

use super::{Args, Legal, Names, Place, Tenant};
use crate::ctxt::Ctxt;
use crate::suggest::{listed, nearest};

pub(super) fn args(cx: &Ctxt, tokens: TokenStream, place: Place) -> Args {
    let mut args = Args::default();
    let parsed = (|input: ParseStream<'_>| {
        options(cx, input, place, &mut args);
        Ok(())
    })
    .parse2(tokens);
    if let Err(error) = parsed {
        cx.push(error);
    }
    args
}

fn options(cx: &Ctxt, input: ParseStream<'_>, place: Place, args: &mut Args) {
    while !input.is_empty() {
        if let Err(error) = option(cx, input, place, args) {
            cx.push(error);
            skip_to_comma(input);
        }
        if input.is_empty() {
            return;
        }
        if input.parse::<Token![,]>().is_err() {
            cx.push(input.error("expected `,` between two options"));
            if !input.peek(Ident::peek_any) {
                skip_to_comma(input);
                // The comma itself, if the end was not reached.
                let _ = input.parse::<Token![,]>();
            }
        }
    }
}

fn option(cx: &Ctxt, input: ParseStream<'_>, place: Place, args: &mut Args) -> syn::Result<()> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error(format!("expected an option: {}", listed(Legal::names(place)))));
    }
    let name = input.call(Ident::parse_any)?;
    let Some(legal) = Legal::find(&name.to_string()) else {
        return Err(unknown(&name, place, args));
    };
    if !legal.is_legal(place) {
        return Err(misplaced(&name, legal, place));
    }
    if args.written.contains(&legal.name) {
        skip_to_comma(input);
        cx.error(&name, format!("option `{name}` is given twice\nhelp: keep one"));
        return Ok(());
    }
    args.written.push(legal.name);
    if legal.name == "strict" {
        if input.is_empty() || input.peek(Token![,]) {
            args.strict = Some(name.span());
            return Ok(());
        }
        return Err(syn::Error::new(
            name.span(),
            "`strict` takes no value\nhelp: write `strict` to have it, leave it out to not have it",
        ));
    }
    if !input.peek(Token![=]) {
        return Err(needs_value(&name, legal));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(needs_value(&name, legal));
    }
    value(cx, input, &name, legal, args)
}

fn value(cx: &Ctxt, input: ParseStream<'_>, name: &Ident, legal: &Legal, args: &mut Args) -> syn::Result<()> {
    match legal.name {
        "action" => {
            let action = string(input, legal)?;
            if action.value().trim().is_empty() {
                return Err(syn::Error::new(
                    action.span(),
                    "the action is empty\nhelp: name what happens, as in `action = \"refund.issue\"`",
                ));
            }
            args.action = Some(action);
        }
        "pin" => {
            let pin = string(input, legal)?;
            let is_digest =
                |text: &str| text.len() == 8 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
            if !is_digest(&pin.value()) {
                return Err(syn::Error::new(
                    pin.span(),
                    format!(
                        "{:?} is not a pin, which has 8 of the digits `0-9a-f`\nhelp: write `pin = \"00000000\"`, and the build says which digits belong there",
                        pin.value()
                    ),
                ));
            }
            args.pin = Some(pin);
        }
        "tenant" => {
            let field = input.call(Ident::parse_any).map_err(|_| unfit(input, legal))?;
            // A field of that name can still be meant, as `r#none`.
            args.tenant = Some(if field == "none" {
                Tenant::None
            } else {
                Tenant::Field(field)
            });
        }
        "subject" => {
            let field = input.call(Ident::parse_any).map_err(|_| unfit(input, legal))?;
            args.subject = Some(field);
        }
        "previous" => {
            let found = input.fork();
            args.previous = Some(input.parse().map_err(|_| unfit(&found, legal))?);
        }
        "until" => args.until = Some(string(input, legal)?),
        "crate" => {
            let path = input.call(Path::parse_mod_style).map_err(|_| unfit(input, legal))?;
            args.root = Some(path);
        }
        _ => {
            let names = names(cx, input, name, legal)?;
            let slot = match legal.name {
                "key" => &mut args.key,
                "payload" => &mut args.payload,
                "once_per" => &mut args.once_per,
                _ => &mut args.allow,
            };
            *slot = Some(names);
        }
    }
    Ok(())
}

fn string(input: ParseStream<'_>, legal: &Legal) -> syn::Result<LitStr> {
    // Asked first, because a literal of another kind would be read before it is refused.
    if input.peek(LitStr) {
        input.parse()
    } else {
        Err(unfit(input, legal))
    }
}

fn names(cx: &Ctxt, input: ParseStream<'_>, option: &Ident, legal: &Legal) -> syn::Result<Names> {
    if !input.peek(token::Bracket) {
        return Err(unfit(input, legal));
    }
    let content;
    bracketed!(content in input);
    let mut names = Vec::new();
    let mut is_partial = false;
    while !content.is_empty() {
        match name(&content, legal) {
            Ok(name) => names.push(name),
            Err(error) => {
                cx.push(error);
                is_partial = true;
                skip_to_comma(&content);
            }
        }
        if !content.is_empty() && content.parse::<Token![,]>().is_err() {
            cx.push(content.error(format!(
                "expected `,` between two fields of `{option}`\nnote: a field is named by itself, as in `{}`; parts of a nested value are chosen by `#[derive(KeyField)]` on its type",
                legal.form
            )));
            is_partial = true;
            // What was read is the beginning of something else, as in `case.id`.
            names.pop();
            skip_to_comma(&content);
            // The comma itself, if the end was not reached.
            let _ = content.parse::<Token![,]>();
        }
    }
    Ok(Names {
        option: option.clone(),
        names,
        is_partial,
    })
}

fn name(content: ParseStream<'_>, legal: &Legal) -> syn::Result<Ident> {
    if content.peek(LitStr) {
        let literal: LitStr = content.parse()?;
        return Err(syn::Error::new(
            literal.span(),
            format!(
                "expected the name of a field, found a string\nhelp: write `{}` without quotes",
                literal.value()
            ),
        ));
    }
    content.call(Ident::parse_any).map_err(|error| {
        syn::Error::new(
            error.span(),
            format!("expected the name of a field\nhelp: write `{}`", legal.form),
        )
    })
}

/// A name that no option has. The option that was probably meant counts as written.
fn unknown(name: &Ident, place: Place, args: &mut Args) -> syn::Error {
    let word = name.to_string();
    let meant = nearest(&word, Legal::names(place));
    let help = match meant {
        Some(option) => {
            args.written.push(option);
            format!("did you mean `{option}`?")
        }
        None => format!("the options are {}", listed(Legal::names(place))),
    };
    syn::Error::new(name.span(), format!("unknown option `{word}`\nhelp: {help}"))
}

fn misplaced(name: &Ident, legal: &Legal, place: Place) -> syn::Error {
    let message = match place {
        Place::Enum => format!(
            "`{name}` belongs to one variant, not to the whole enum\nhelp: write `#[idempotent({})]` on each variant",
            legal.form
        ),
        _ => format!(
            "`{name}` belongs to the whole enum, not to one variant\nhelp: write it in the `#[idempotent(..)]` on the enum"
        ),
    };
    syn::Error::new(name.span(), message)
}

fn needs_value(name: &Ident, legal: &Legal) -> syn::Error {
    syn::Error::new(
        name.span(),
        format!("`{name}` needs a value\nhelp: write `{}`", legal.form),
    )
}

/// A value that the option cannot have. `input` stands before it.
fn unfit(input: ParseStream<'_>, legal: &Legal) -> syn::Error {
    let found = input
        .fork()
        .parse::<TokenTree>()
        .map_or_else(|_| "this".to_owned(), |token| format!("`{token}`"));
    input.error(format!(
        "{found} is not a value of `{}`\nhelp: write `{}`",
        legal.name, legal.form
    ))
}

fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        // Cannot fail: the input is not empty.
        let _ = input.parse::<TokenTree>();
    }
}
