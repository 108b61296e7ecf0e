//! Every type that has a stable identity, by itself and inside others.

use idem::{Digest, Tenant, derive, idempotent};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroI8, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;

#[idempotent(
    action = "a",
    key = [tenant, text, shared, counted, boxed, cow, flag, letter, tiny, long, sized, non_zero, least, maybe, twice, row, table, pair, set, map, digest],
)]
struct Everything<'a> {
    tenant: Tenant,
    text: &'a str,
    shared: Arc<str>,
    counted: Rc<String>,
    boxed: Box<u8>,
    cow: Cow<'a, [u32]>,
    flag: bool,
    letter: char,
    tiny: i8,
    long: u64,
    sized: usize,
    non_zero: NonZeroU64,
    least: Option<NonZeroI8>,
    maybe: Option<Box<Option<u32>>>,
    twice: Option<Option<u32>>,
    row: Vec<Option<u16>>,
    table: [[i64; 2]; 2],
    pair: (u8, (String, char)),
    set: BTreeSet<(u8, char)>,
    map: BTreeMap<&'a str, Vec<bool>>,
    digest: Digest,
}

fn main() -> Result<(), idem::KeyError> {
    let everything = Everything {
        tenant: Tenant::parse("acme")?,
        text: "t",
        shared: "s".into(),
        counted: Rc::new("c".into()),
        boxed: Box::new(255),
        cow: Cow::Borrowed(&[1, 2]),
        flag: true,
        letter: 'é',
        tiny: -128,
        long: (1 << 53) - 1,
        sized: 0,
        non_zero: NonZeroU64::MIN,
        least: NonZeroI8::new(-1),
        maybe: None,
        twice: Some(None),
        row: vec![None, Some(1)],
        table: [[1, 2], [3, 4]],
        pair: (1, ("p".into(), 'q')),
        set: BTreeSet::from([(2, 'b'), (1, 'a')]),
        map: BTreeMap::from([("m", vec![false])]),
        digest: Digest::of(b""),
    };
    assert_eq!(
        String::from_utf8_lossy(&derive(&everything, None)?.preimage),
        r#"{"action":"a","boxed":255,"counted":"c","cow":[1,2],"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","flag":true,"least":-1,"letter":"é","long":9007199254740991,"map":{"m":[false]},"non_zero":1,"pair":[1,["p","q"]],"row":[null,1],"set":[[1,"a"],[2,"b"]],"shared":"s","sized":0,"table":[[1,2],[3,4]],"tenant":"acme","text":"t","tiny":-128,"twice":null}"#
    );
    Ok(())
}
