//! serde's data model in canonical form.

use std::collections::{BTreeMap, HashMap};

use idem_core::canonical::{self, CanonicalErrorKind, Mode};
use serde::Serialize;

#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { z: u8, a: Option<u8> },
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrapped<T>(T);

#[derive(Serialize)]
struct Optional<T> {
    a: Option<T>,
    z: u8,
}

/// What a number looks like to a serializer when serde_json keeps literals.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::Number")]
struct Literal {
    #[serde(rename = "$serde_json::private::Number")]
    text: &'static str,
}

#[test]
fn every_kind_of_value_has_the_form_that_serde_json_gives_it() {
    form(&Shape::Unit, r#""Unit""#);
    form(&Shape::Newtype(1), r#"{"Newtype":1}"#);
    form(&Shape::Tuple(1, 2), r#"{"Tuple":[1,2]}"#);
    form(&Shape::Struct { z: 1, a: Some(2) }, r#"{"Struct":{"a":2,"z":1}}"#);
    form(&Unit, "null");
    form(&(), "null");
    form(&Wrapped("x"), r#""x""#);
    form(&("a", 'b', true, 1.5), r#"["a","b",true,1.5]"#);
    form(&Vec::<u8>::new(), "[]");
    form(&BTreeMap::from([(10, 1), (9, 2), (-1, 3)]), r#"{"-1":3,"10":1,"9":2}"#);
    form(&BTreeMap::from([(true, 1), (false, 2)]), r#"{"false":2,"true":1}"#);
    form(&BTreeMap::from([('b', 1), ('a', 2)]), r#"{"a":2,"b":1}"#);
    form(&BTreeMap::from([(Wrapped("b").0, 1)]), r#"{"b":1}"#);
}

#[test]
fn an_absent_field_is_left_out_of_a_fingerprint_at_every_depth_and_null_in_a_key() {
    let absent = Optional { a: None::<u8>, z: 1 };
    assert_eq!(fingerprint(&absent), r#"{"z":1}"#);
    assert_eq!(fingerprint(&vec![(Wrapped(&absent), 1)]), r#"[[{"z":1},1]]"#);
    assert_eq!(fingerprint(&Shape::Struct { z: 1, a: None }), r#"{"Struct":{"z":1}}"#);
    assert_eq!(
        fingerprint(&Optional {
            a: Some(None::<u8>),
            z: 1
        }),
        r#"{"a":null,"z":1}"#
    );
    assert_eq!(fingerprint(&BTreeMap::from([("a", None::<u8>)])), r#"{"a":null}"#);
    assert_eq!(fingerprint(&(None::<u8>, ())), "[null,null]");
    assert_eq!(fingerprint(&serde_json::json!({ "a": null })), r#"{"a":null}"#);
    form(&absent, r#"{"a":null,"z":1}"#);
}

#[test]
fn a_fingerprint_keeps_all_digits_of_an_integer() {
    assert_eq!(fingerprint(&((1_u64 << 53) + 1)), "9007199254740993");
    assert_eq!(fingerprint(&u64::MAX), "18446744073709551615");
    assert_eq!(fingerprint(&i64::MIN), "-9223372036854775808");
    assert_eq!(fingerprint(&u128::MAX), "3.40282366920938463463374607431768211455e+38");
    assert_eq!(fingerprint(&i128::MIN), "-1.70141183460469231731687303715884105728e+38");
    assert_eq!(fingerprint(&10_u128.pow(21)), fingerprint(&1e21));
    assert_eq!(fingerprint(&10_u128.pow(20)), fingerprint(&1e20));
    assert_eq!(
        fingerprint(&BTreeMap::from([(u64::MAX, 1)])),
        r#"{"18446744073709551615":1}"#
    );
}

#[test]
fn a_fingerprint_of_bytes_is_that_of_a_vector_of_them() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255, 127])
        }
    }
    assert_eq!(fingerprint(&Bytes), fingerprint(&vec![0_u8, 255, 127]));
    assert_eq!(
        canonical::to_vec(&Bytes, Mode::Key).unwrap_err().kind(),
        CanonicalErrorKind::Bytes
    );
}

#[test]
fn a_fingerprint_refuses_what_is_no_number_and_widens_an_f32() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = canonical::to_vec(&[value], Mode::Fingerprint).unwrap_err();
        assert_eq!(
            (error.kind(), error.path().as_str()),
            (CanonicalErrorKind::NotFinite, "[0]")
        );
    }
    assert_eq!(fingerprint(&0.1_f32), "0.10000000149011612");
    assert_eq!(fingerprint(&-0.0), "0");
}

#[test]
fn a_literal_that_serde_json_kept_is_judged_like_one_in_a_text() {
    let key = |text| canonical::to_vec(&Literal { text }, Mode::Key).map(|form| String::from_utf8(form).unwrap());
    assert_eq!(key("1.0").unwrap(), "1");
    assert_eq!(key("-0").unwrap(), "0");
    assert!(key("9007199254740993").is_err());
    assert!(key("1000000000000000000000").is_err());
    assert!(key("1e400").is_err());
    for malformed in ["", "NaN", "01", "1 ", "{}", "1,2"] {
        assert!(key(malformed).is_err(), "{malformed}");
    }
    assert_eq!(
        fingerprint(&Literal {
            text: "0.10000000000000000001"
        }),
        "0.10000000000000000001"
    );
}

#[test]
fn the_path_leads_through_variants_maps_and_sequences() {
    #[derive(Serialize)]
    enum Event {
        Moved { items: Vec<BTreeMap<&'static str, f64>> },
        Pair(u8, f64),
    }
    let path = |event: Event| canonical::to_vec(&event, Mode::Key).unwrap_err().path();
    let items = vec![BTreeMap::new(), BTreeMap::from([("a", 1.0), ("unit price", f64::NAN)])];
    assert_eq!(path(Event::Moved { items }), r#"Moved.items[1]["unit price"]"#);
    assert_eq!(path(Event::Pair(1, f64::NAN)), "Pair[1]");
}

#[test]
fn nesting_is_limited_to_127_levels_and_one_mebibyte() {
    let nested = |levels: usize| ["[".repeat(levels), "]".repeat(levels)].concat();
    for mode in [Mode::Key, Mode::Fingerprint, Mode::Form] {
        assert!(canonical::from_json(nested(127).as_bytes(), mode).is_ok());
        let error = canonical::from_json(nested(128).as_bytes(), mode).unwrap_err();
        assert_eq!(error.kind(), CanonicalErrorKind::TooDeep);
        assert!(canonical::to_vec(&"x".repeat((1 << 20) - 2), mode).is_ok());
        let error = canonical::to_vec(&"x".repeat((1 << 20) - 1), mode).unwrap_err();
        assert_eq!(error.kind(), CanonicalErrorKind::TooLarge);
    }
    assert!(canonical::from_json("[".repeat(10_000_000).as_bytes(), Mode::Key).is_err());
}

#[test]
fn a_map_may_come_in_any_order() {
    let forms: Vec<_> = (0..20)
        .map(|_| fingerprint(&(0..50).map(|n| (n, n)).collect::<HashMap<u32, u32>>()))
        .collect();
    assert!(forms.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn an_implementation_that_breaks_the_protocol_is_an_error_and_no_malformed_form() {
    struct Broken(u8);
    impl Serialize for Broken {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeMap as _;
            let mut map = serializer.serialize_map(None)?;
            match self.0 {
                0 => map.serialize_value(&1)?,
                1 => map.serialize_key("a").and_then(|()| map.serialize_key("b"))?,
                _ => map.serialize_key("a")?,
            }
            map.end()
        }
    }
    for broken in 0..3 {
        let error = canonical::to_vec(&Broken(broken), Mode::Key).unwrap_err();
        assert_eq!(error.kind(), CanonicalErrorKind::Misuse);
    }
}

fn form<T: Serialize>(value: &T, expected: &str) {
    assert_eq!(canonical::to_vec(value, Mode::Key).unwrap(), expected.as_bytes());
    assert_eq!(serde_json_canonicalizer::to_string(value).unwrap(), expected);
}

fn fingerprint<T: Serialize>(value: &T) -> String {
    String::from_utf8(canonical::to_vec(value, Mode::Fingerprint).unwrap()).unwrap()
}
