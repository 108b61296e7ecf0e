//! What must not quietly become a key.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use idem_core::canonical::{self, Mode};
use idem_core::{CanonicalError, Tenant};
use serde::Serialize;
use serde_json::Value;

use crate::{rows, text};

const REJECT: &str = include_str!("../../../../idem-core/vectors/jcs-reject.jsonl");

#[test]
fn every_text_that_must_be_refused_is_refused_with_its_offset() {
    let mut refused = 0;
    for row in rows(REJECT).iter().filter(|row| row["level"] == "must") {
        let Some(input) = bytes(row) else { continue };
        let error = canonical::from_json(&input, Mode::Key).expect_err(text(row, "name"));
        assert!(
            error.offset().is_some_and(|offset| offset <= input.len()),
            "{row}: {error}"
        );
        refused += 1;
    }
    assert_eq!(refused, 67);
}

#[test]
fn texts_that_are_policy_are_judged_as_the_design_says() {
    for row in rows(REJECT)
        .iter()
        .filter(|row| row["level"] == "policy" && row["part"].is_null())
    {
        let Some(input) = bytes(row) else { continue };
        let form = canonical::from_json(&input, Mode::Key);
        match text(row, "name").starts_with("bigfloat") {
            true => assert!(form.is_err(), "{row}"),
            false => assert_eq!(form.unwrap(), text(row, "canonical_if_accepted").as_bytes(), "{row}"),
        }
    }
}

#[test]
fn names_that_serde_json_uses_in_band_are_names() {
    for row in rows(REJECT).iter().filter(|row| row["level"] == "reject-or-exact") {
        let input = text(row, "input");
        assert_eq!(
            canonical::from_json(input.as_bytes(), Mode::Key).unwrap(),
            input.as_bytes()
        );
        let value: Value = serde_json::from_str(input).unwrap();
        // In a build that keeps literals serde_json itself has read it as a number.
        if serde_json::to_string(&value).unwrap() == input {
            assert_eq!(canonical::to_vec(&value, Mode::Key).unwrap(), input.as_bytes());
        }
    }
}

#[test]
fn tenants_are_judged_as_the_design_says() {
    let accepted = ["tenant-upper", "tenant-looks-like-key"];
    for row in rows(REJECT).iter().filter(|row| row["part"] == "tenant") {
        let input: Value = serde_json::from_str(text(row, "input")).unwrap();
        let tenant = serde_json::from_value::<Tenant>(input["tenant"].clone());
        assert_eq!(tenant.is_ok(), accepted.contains(&text(row, "name")), "{row}");
    }
}

/// Each value in the file has a line here. What no serializer can see (a hash set, a heap) is refused by its type:
/// the compile-fail examples of `KeyField` cover it.
#[test]
fn every_rust_value_that_must_be_refused_is_refused() {
    let refusals = [
        refused("rust-nan-field", &Field { v: f64::NAN }),
        refused("rust-inf-in-vec", &vec![f64::INFINITY]),
        refused("rust-neg-inf", &Field { v: f64::NEG_INFINITY }),
        refused("rust-nan-f32", &Field { v: f32::NAN }),
        refused("rust-some-nan", &Some(f64::NAN)),
        refused("rust-nan-map-value", &BTreeMap::from([("a", f64::NAN)])),
        refused("rust-f32", &0.1_f32),
        refused("rust-u64-big", &(1_u64 << 53)),
        refused("rust-i64-big", &-(1_i64 << 53)),
        refused("rust-u128-big", &u128::MAX),
        refused("rust-i128-big", &i128::MIN),
        refused(
            "rust-flatten-dup",
            &Outer {
                a: 1,
                inner: Inner { a: 2 },
            },
        ),
        refused("rust-rename-dup", &Renamed { a: 1, b: 2 }),
        refused("rust-tagged-dup", &Tagged::V(Content { t: 1 })),
        refused(
            "rust-map-u64-key-big",
            &BTreeMap::from([(1_u64 << 53, 1), ((1 << 53) + 1, 2)]),
        ),
        refused("rust-map-f64-key", &Pairs(vec![(1.0, 1)])),
        refused("rust-map-tuple-key", &BTreeMap::from([((1, 2), 3)])),
        refused(
            "rust-map-mixed-key",
            &Pairs(vec![(Mixed::Number(1), 1), (Mixed::Text("1"), 2)]),
        ),
        refused("rust-rawvalue", &Raw { text: "1" }),
    ];
    let by_type = ["rust-hashset", "rust-binaryheap", "rust-json-macro-nan"];
    for row in rows(REJECT)
        .iter()
        .filter(|row| row["kind"] == "rust-value" && row["level"] == "must")
    {
        let name = text(row, "name");
        assert!(
            by_type.contains(&name) || refusals.iter().any(|(refused, _)| *refused == name),
            "{name} is covered"
        );
    }
    assert_eq!(refusals[0].1.path(), "v");
    assert_eq!(refusals[1].1.path(), "[0]");
    assert_eq!(refusals[11].1.path(), "a");
}

/// `json!` turns NaN into null before anyone can see it, so it is the value `null` that is told apart from an absent one.
#[test]
fn what_a_foreign_macro_made_of_nan_is_null() {
    assert_eq!(
        canonical::to_vec(&serde_json::json!({ "v": f64::NAN }), Mode::Key).unwrap(),
        br#"{"v":null}"#
    );
}

/// No serializer sees an order that is not there; this is why the types are refused by the compiler.
#[test]
fn a_set_without_order_is_a_sequence_to_serde() {
    let set: HashSet<u32> = [7].into();
    let heap: BinaryHeap<u32> = [7].into();
    assert_eq!(canonical::to_vec(&set, Mode::Fingerprint).unwrap(), b"[7]");
    assert_eq!(canonical::to_vec(&heap, Mode::Fingerprint).unwrap(), b"[7]");
}

fn refused<T: Serialize>(name: &'static str, value: &T) -> (&'static str, CanonicalError) {
    (name, canonical::to_vec(value, Mode::Key).expect_err(name))
}

fn bytes(row: &Value) -> Option<Vec<u8>> {
    let input = text(row, "input");
    match text(row, "kind") {
        "json-text" => Some(input.as_bytes().to_vec()),
        "bytes-hex" => {
            let byte = |at| u8::from_str_radix(&input[at..at + 2], 16).unwrap();
            Some((0..input.len()).step_by(2).map(byte).collect())
        }
        _ => None,
    }
}

#[derive(Serialize)]
struct Field<T> {
    v: T,
}

#[derive(Serialize)]
struct Outer {
    a: u8,
    #[serde(flatten)]
    inner: Inner,
}

#[derive(Serialize)]
struct Inner {
    a: u8,
}

#[derive(Serialize)]
struct Renamed {
    a: u8,
    #[serde(rename = "a")]
    b: u8,
}

#[derive(Serialize)]
#[serde(tag = "t")]
enum Tagged {
    V(Content),
}

#[derive(Serialize)]
struct Content {
    t: u8,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Mixed {
    Number(u8),
    Text(&'static str),
}

struct Pairs<K>(Vec<(K, u8)>);

impl<K: Serialize> Serialize for Pairs<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What `serde_json::value::RawValue` looks like to a serializer.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::RawValue")]
struct Raw {
    #[serde(rename = "$serde_json::private::RawValue")]
    text: &'static str,
}
