//! Borrowed inputs.

#![deny(warnings, elided_lifetimes_in_paths, single_use_lifetimes)]

use idem::{KeyField, derive, idempotent};
use std::borrow::Cow;

#[idempotent(action = "a", key = [tenant, case, names, fixed, line], subject = case, once_per = [case])]
struct Order<'a, 'b: 'a, 'c>
where
    'c: 'b,
{
    tenant: &'a str,
    case: Cow<'b, str>,
    names: &'c [&'a str],
    fixed: &'static str,
    line: Option<&'a Line<'b>>,
    note: &'b str,
}

#[derive(KeyField)]
struct Line<'a> {
    sku: &'a str,
    parts: Vec<Part<'a>>,
}

#[derive(KeyField)]
enum Part<'a> {
    Named(&'a str),
    None,
}

#[idempotent(tenant = none)]
enum Command<'a> {
    #[idempotent(action = "open", key = [case])]
    Open { case: &'a str },
    #[idempotent(action = "close", key = [case])]
    Close { case: &'a str, note: &'a str },
}

fn main() -> Result<(), idem::KeyError> {
    let line = Line { sku: "s", parts: vec![Part::Named("p"), Part::None] };
    let order = Order { tenant: "acme", case: "C-7".into(), names: &["x"], fixed: "f", line: Some(&line), note: "n" };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"action":"a","case":"C-7","fixed":"f","line":{"parts":[{"Named":"p"},"None"],"sku":"s"},"names":["x"],"tenant":"acme"}"#
    );
    let keys = [derive(&Command::Open { case: "1" }, None)?.key, derive(&Command::Close { case: "1", note: "" }, None)?.key];
    assert_ne!(keys[0], keys[1]);
    Ok(())
}
