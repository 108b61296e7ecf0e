//! The same options on fields whose types have parameters.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};
use std::collections::HashSet;
use std::hash::BuildHasher;

#[idempotent(action = "a", key = [serial, tags, rows, owner, line], tenant = none)]
struct Order<'a, N, T, S: BuildHasher, D: ?Sized> {
    #[key(text)]
    serial: Option<N>,
    #[key(set)]
    tags: &'a HashSet<T, S>,
    #[key(set)]
    rows: [T; 2],
    #[key(display)]
    owner: &'a D,
    line: Line<T, N>,
}

#[derive(KeyField)]
struct Line<T, N> {
    #[key(set)]
    parts: Vec<T>,
    #[key(text)]
    serial: N,
}

fn main() -> Result<(), idem::KeyError> {
    let tags = HashSet::from(["b", "a"]);
    let order = Order { serial: Some(1_u128), tags: &tags, rows: ["d", "c"], owner: "me", line: Line { parts: vec!["e"], serial: 2 } };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"action":"a","line":{"parts":["e"],"serial":"2"},"owner":"me","rows":["c","d"],"serial":"1","tags":["a","b"]}"#
    );
    Ok(())
}
