//! Laws of typed values: no two share a key, the order in which they are given does not count, and the reference writes
//! the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use idem::{Derived, Idempotent, IdempotentFields, KeyField, derive, idempotent};
use idem_core::canonical::{CanonicalWriter, Members, Mode};
use idem_core::{CanonicalError, TenantSource};
use proptest::prelude::*;
use serde::Serialize;

/// Values of every kind that a key takes.
#[idempotent(action = "typed", key = [flag, lines, map, no, pair, text, tree, unit], tenant = none)]
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Typed {
    flag: Option<bool>,
    lines: Vec<Line>,
    map: BTreeMap<String, Option<i64>>,
    no: i64,
    pair: (String, char),
    text: String,
    tree: BTreeSet<String>,
    unit: Option<Unit>,
}

#[derive(Clone, Debug, PartialEq, KeyField, Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<u32>,
    sku: String,
}

#[derive(Clone, Debug, PartialEq, KeyField, Serialize)]
enum Unit {
    Piece,
    Box(u8),
    Pallet { rows: u8, label: String },
}

/// Few characters, and those that could be taken for structure, so that neighbours are likely.
fn text() -> impl Strategy<Value = String> {
    let character = prop::sample::select(vec![
        'a',
        '"',
        '\\',
        ',',
        ':',
        '{',
        ']',
        '\0',
        '\n',
        'é',
        '\u{fb33}',
        '\u{1f600}',
    ]);
    prop::collection::vec(character, 0..4).prop_map(String::from_iter)
}

fn typed() -> impl Strategy<Value = Typed> {
    let line = (prop::option::of(0..3_u32), text()).prop_map(|(quantity, sku)| Line { quantity, sku });
    let unit = prop_oneof![
        Just(Unit::Piece),
        (0..2_u8).prop_map(Unit::Box),
        (0..2_u8, text()).prop_map(|(rows, label)| Unit::Pallet { rows, label }),
    ];
    (
        prop::option::of(any::<bool>()),
        prop::collection::vec(line, 0..3),
        prop::collection::btree_map(text(), prop::option::of(-2..2_i64), 0..3),
        -2..2_i64,
        (text(), prop::sample::select(vec!['a', '"', '\0'])),
        text(),
        prop::collection::btree_set(text(), 0..3),
        prop::option::of(unit),
    )
        .prop_map(|(flag, lines, map, no, pair, text, tree, unit)| Typed {
            flag,
            lines,
            map,
            no,
            pair,
            text,
            tree,
            unit,
        })
}

/// One field of the first taken from the second, or nothing: pairs that differ in little.
fn graft(first: &Typed, second: &Typed, field: usize) -> Typed {
    let mut typed = first.clone();
    match field {
        0 => typed.flag = second.flag,
        1 => typed.lines.clone_from(&second.lines),
        2 => typed.map.clone_from(&second.map),
        3 => typed.no = second.no,
        4 => typed.pair.clone_from(&second.pair),
        5 => typed.text.clone_from(&second.text),
        6 => typed.tree.clone_from(&second.tree),
        7 => typed.unit.clone_from(&second.unit),
        _ => {}
    }
    typed
}

/// Its members in an order that a test chooses, one half as key and the other as payload.
struct Shuffled(Vec<(&'static str, String)>);

impl IdempotentFields for Shuffled {
    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::None
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        self.0
            .iter()
            .filter(|(name, _)| name.len() == 1)
            .try_for_each(|(name, value)| out.key(name, value))
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        self.0
            .iter()
            .filter(|(name, _)| name.len() == 2)
            .try_for_each(|(name, value)| out.value(name, value))
    }
}

impl Idempotent for Shuffled {
    fn action(&self) -> &str {
        "shuffled"
    }
}

const NAMES: [&str; 10] = ["b", "a", "z", "\u{fb33}", "!", "bb", "aa", "zz", "!!", "\"\\"];

fn derived(members: Vec<(&'static str, String)>) -> Derived {
    derive(&Shuffled(members), None).unwrap()
}

proptest! {
    #[test]
    fn values_that_differ_have_different_keys(first in typed(), second in typed(), field in 0..10_usize) {
        let second = graft(&first, &second, field);
        let (one, other) = (derive(&first, None).unwrap(), derive(&second, None).unwrap());
        prop_assert_eq!(first == second, one.key == other.key);
        prop_assert_eq!(first == second, one.fingerprint == other.fingerprint);
    }

    #[test]
    fn what_is_hashed_is_what_the_reference_writes(typed in typed()) {
        #[derive(Serialize)]
        struct Whole<'a> {
            action: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            flag: Option<bool>,
            lines: &'a [Line],
            map: &'a BTreeMap<String, Option<i64>>,
            no: i64,
            pair: &'a (String, char),
            text: &'a str,
            tree: &'a BTreeSet<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            unit: &'a Option<Unit>,
        }
        let whole = Whole {
            action: "typed",
            flag: typed.flag,
            lines: &typed.lines,
            map: &typed.map,
            no: typed.no,
            pair: &typed.pair,
            text: &typed.text,
            tree: &typed.tree,
            unit: &typed.unit,
        };
        let expected = serde_json_canonicalizer::to_vec(&whole).unwrap();
        prop_assert_eq!(&derive(&typed, None).unwrap().preimage, &expected);
    }

    #[test]
    fn the_order_of_members_does_not_count(
        values in prop::collection::vec(("[a-c]{0,90}", text()), NAMES.len()),
        order in Just((0..NAMES.len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let member = |index: &usize| (NAMES[*index], format!("{}{}", values[*index].0, values[*index].1));
        let sorted = derived((0..NAMES.len()).map(|index| member(&index)).collect());
        let shuffled = derived(order.iter().map(member).collect());
        prop_assert_eq!(&shuffled.preimage, &sorted.preimage);
        prop_assert_eq!(&shuffled.key, &sorted.key);
        prop_assert_eq!(&shuffled.fingerprint, &sorted.fingerprint);
        prop_assert_eq!(shuffled.payload_digest(), sorted.payload_digest());
        // The fingerprint is that of the one object, however the members came.
        let object = |length: usize| {
            let members: BTreeMap<_, _> = (0..NAMES.len()).map(|index| member(&index)).filter(|(name, _)| name.chars().count() == length).collect();
            serde_json::to_value(members).unwrap()
        };
        let (mut key, payload) = (object(1), object(2));
        // U+FB33 is one character in three bytes, and so in neither half.
        key.as_object_mut().unwrap().remove("\u{fb33}");
        key["action"] = "shuffled".into();
        let whole = serde_json::json!({ "action": "shuffled", "key": key, "payload": payload });
        let whole = serde_json_canonicalizer::to_vec(&whole).unwrap();
        let expected = idem::Digest::of(whole);
        prop_assert_eq!(sorted.fingerprint.as_bytes(), expected.as_bytes());
    }

    #[test]
    fn the_order_of_a_set_does_not_count(elements in prop::collection::btree_set(text(), 0..12).prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle()) {
        let form = |write: &dyn Fn(&mut Members<'_>) -> Result<(), CanonicalError>| {
            let mut writer = CanonicalWriter::new(Mode::Key);
            writer.object(|members| write(members)).unwrap();
            writer.finish().unwrap()
        };
        let mut sorted: Vec<_> = elements.iter().map(|element| serde_json_canonicalizer::to_string(element).unwrap()).collect();
        sorted.sort();
        let expected = format!("{{\"s\":[{}]}}", sorted.join(",")).into_bytes();
        prop_assert_eq!(form(&|members| members.key_set("s", &elements)), expected.clone());
        let set: HashSet<_> = elements.iter().collect();
        prop_assert_eq!(form(&|members| members.key_set("s", &set)), expected);
    }
}
