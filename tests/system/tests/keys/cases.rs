//! Cases from the field, as far as they concern keys and fingerprints.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use idem_core::canonical::{self, CanonicalErrorKind, Mode};
use idem_core::{ClientKey, Digest, IdempotencyKey, KeyField, Native, Tenant, derive};
use serde::Serialize;

use crate::inputs::{Input, Through, derived};

#[test]
fn b01_names_beyond_the_basic_plane_are_sorted_by_utf16_units() {
    let sorted = "{\"\u{1F600}\":1,\"\u{FB33}\":2}";
    for text in [sorted, "{\"\u{FB33}\":2,\"\u{1F600}\":1}"] {
        assert_eq!(form(text, Mode::Key), sorted);
        assert_eq!(form(&format!("[[{text}]]"), Mode::Fingerprint), format!("[[{sorted}]]"));
        assert_eq!(
            form(&format!("{{\"a\":{{\"b\":{text}}}}}"), Mode::Key),
            format!("{{\"a\":{{\"b\":{sorted}}}}}")
        );
    }
    let map = BTreeMap::from([("\u{FB33}", 2_u32), ("\u{1F600}", 1)]);
    assert_eq!(canonical::to_vec(&map, Mode::Key).unwrap(), sorted.as_bytes());
    #[derive(Serialize)]
    struct Renamed {
        #[serde(rename = "\u{FB33}")]
        b: u8,
        #[serde(rename = "\u{1F600}")]
        a: u8,
    }
    assert_eq!(
        canonical::to_vec(&Renamed { b: 2, a: 1 }, Mode::Key).unwrap(),
        sorted.as_bytes()
    );
    let key = derived(&Through(&map), &()).preimage;
    assert_eq!(
        key,
        format!("{{\"action\":\"test\",\"id\":{sorted},\"tenant\":\"acme\"}}").as_bytes()
    );
}

#[test]
fn b02_numbers_are_spelled_as_ecmascript_spells_them() {
    for (value, text) in [
        (0.000001, "0.000001"),
        (-0.0, "0"),
        (295147905179352825856.0, "295147905179352830000"),
        (999999999999999900000.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
    ] {
        assert_eq!(canonical::to_vec(&value, Mode::Form).unwrap(), text.as_bytes());
        assert_eq!(form(text, Mode::Form), text);
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for mode in [Mode::Key, Mode::Fingerprint, Mode::Form] {
            let error = canonical::to_vec(&BTreeMap::from([("v", value)]), mode).unwrap_err();
            assert_eq!(
                (error.kind(), error.path().as_str()),
                (CanonicalErrorKind::NotFinite, "v")
            );
        }
    }
}

#[test]
fn b03_integers_beyond_2_53_never_share_a_key() {
    for value in [
        9_007_199_254_740_992_i128,
        9_007_199_254_740_993,
        i64::MIN.into(),
        u64::MAX.into(),
        i128::MIN,
        i128::MAX,
    ] {
        let error = canonical::to_vec(&BTreeMap::from([("amount_minor", value)]), Mode::Key).unwrap_err();
        assert_eq!(
            (error.kind(), error.path().as_str()),
            (CanonicalErrorKind::IntegerOutOfRange, "amount_minor")
        );
        assert!(error.to_string().contains("send it as a string"), "{error}");
        let error = canonical::from_json(format!("{{\"amount_minor\":{value}}}").as_bytes(), Mode::Key).unwrap_err();
        assert_eq!(
            (error.kind(), error.path().as_str()),
            (CanonicalErrorKind::IntegerOutOfRange, "amount_minor")
        );
    }
    for value in [u64::MAX, (1 << 53) + 1, 1 << 53] {
        let tenant = Tenant::parse("acme").unwrap();
        let error = derive(
            &Input {
                action: "pay",
                key: &value,
                payload: &(),
            },
            Some(&tenant),
        )
        .unwrap_err();
        assert_eq!(error.path(), "id");
    }
    // As payload they are told apart.
    let fingerprint = |amount: u64| derived(&"K", &amount).fingerprint;
    assert_ne!(fingerprint((1 << 53) + 1), fingerprint(1 << 53));
}

#[test]
fn b04_equal_numbers_are_one_number_and_strings_stay_strings() {
    for mode in [Mode::Key, Mode::Fingerprint, Mode::Form] {
        let forms: BTreeSet<_> = ["10", "10.0", "1e1", "1E+1", "100e-1"]
            .map(|text| form(text, mode))
            .into();
        assert_eq!(forms, BTreeSet::from(["10".to_owned()]));
        assert_eq!(form("[-0, -0.0, -0e5, 0.00]", mode), "[0,0,0,0]");
        assert_ne!(form(r#""10""#, mode), form(r#""10.0""#, mode));
        assert_ne!(form(r#""10""#, mode), form("10", mode));
    }
    assert_eq!(derived(&"K", &1.0).fingerprint, derived(&"K", &1_u8).fingerprint);
    assert_ne!(derived(&"K", &1.0).fingerprint, derived(&"K", &"1").fingerprint);
}

#[test]
fn b05_member_order_and_white_space_do_not_count_and_array_order_does() {
    for mode in [Mode::Key, Mode::Fingerprint] {
        let first = form(r#"{"a":1,"b":[1,2]}"#, mode);
        assert_eq!(form("{ \"b\" : [1,\t2],\r\n\"a\":1 }", mode), first);
        assert_ne!(form(r#"{"a":1,"b":[2,1]}"#, mode), first);
        assert_ne!(
            form(r#"{"s":"{\"a\":1,\"b\":2}"}"#, mode),
            form(r#"{"s":"{\"b\":2,\"a\":1}"}"#, mode)
        );
    }
}

#[test]
fn b06_an_optional_field_that_is_none_changes_neither_key_nor_fingerprint() {
    #[derive(Serialize)]
    struct First {
        id: u8,
    }
    #[derive(Serialize)]
    struct Second {
        id: u8,
        note: Option<&'static str>,
    }
    let first = derived(&"K", &First { id: 1 });
    let second = |note| derived(&"K", &Second { id: 1, note });
    assert_eq!(first.fingerprint, second(None).fingerprint);
    assert_eq!(first.payload_digest(), second(None).payload_digest());
    assert_ne!(first.fingerprint, second(Some("")).fingerprint);
    // In a text, null and missing are different facts.
    for mode in [Mode::Key, Mode::Fingerprint] {
        assert_ne!(form(r#"{"id":1}"#, mode), form(r#"{"id":1,"note":null}"#, mode));
    }
    assert_ne!(
        derived(&"K", &None::<Option<u8>>).fingerprint,
        derived(&"K", &Some(None::<u8>)).fingerprint
    );
}

#[test]
fn b07_a_name_given_twice_is_refused_at_every_depth() {
    for (text, path, offset) in [
        (r#"{"amount":1,"amount":2}"#, "amount", 12),
        (r#"{"amount":1,"amount":1}"#, "amount", 12),
        (r#"{"amount":1,"b":0,"amount":1}"#, "amount", 18),
        (r#"{"b":0,"amount":1,"amount":1}"#, "amount", 18),
        (r#"{"amount":1,"\u0061mount":2}"#, "amount", 12),
        (r#"[{"x":{"k":1,"j":0,"k":1}}]"#, "[0].x.k", 19),
        (r#"{"":1,"":1}"#, r#"[""]"#, 6),
        (r#"{"\u0001":1,"\u0001":2}"#, r#"["\u{1}"]"#, 12),
    ] {
        for mode in [Mode::Key, Mode::Fingerprint, Mode::Form] {
            let error = canonical::from_json(text.as_bytes(), mode).unwrap_err();
            assert_eq!(error.kind(), CanonicalErrorKind::DuplicateName, "{text}");
            assert_eq!((error.path().as_str(), error.offset()), (path, Some(offset)), "{text}");
        }
    }
    assert!(IdempotencyKey::from_json(&Tenant::parse("acme").unwrap(), br#"{"a":1,"a":1}"#).is_err());
}

#[test]
fn b08_sets_and_maps_have_one_key_and_vectors_keep_their_order() {
    let tags = ["f", "b", "a", "e", "c", "d"];
    let mut keys = BTreeSet::new();
    for turn in 0..100 {
        let turned = tags.iter().cycle().skip(turn % 6).take(6).map(|tag| (*tag).to_owned());
        keys.insert(derived(&Through(turned.collect::<BTreeSet<_>>()), &()).key);
    }
    assert_eq!(keys.len(), 1);
    let fingerprint = |_| derived(&"K", &tags.iter().map(|tag| (*tag, 1)).collect::<HashMap<_, _>>()).payload_digest();
    assert_eq!((0..100).map(fingerprint).collect::<BTreeSet<_>>().len(), 1);
    assert_ne!(derived(&vec!["a", "b"], &()).key, derived(&vec!["b", "a"], &()).key);
}

#[test]
fn b09_parts_keep_their_boundaries() {
    let key = |tenant: &str, id: &str| {
        let tenant = Tenant::parse(tenant).unwrap();
        derive(
            &Input {
                action: "a",
                key: &id,
                payload: &(),
            },
            Some(&tenant),
        )
        .unwrap()
        .key
    };
    let client = |tenant: &str, id: &str| ClientKey::parse(id).unwrap().under(&Tenant::parse(tenant).unwrap());
    let long = "k".repeat(254);
    let keys = [
        key("a", "b:c"),
        key("a-b", "c"),
        key("ab", "c"),
        key("a", "bc"),
        key("a", "b_c"),
        key("a_b", "c"),
        key("a", ""),
        key("a", "\0"),
        key("a", "\n"),
        key("a", "\",\"tenant\":\"b"),
        client("a", "b_c"),
        client("a_b", "c"),
        client("a", "b:c"),
        client("a", "c"),
        client("b", "c"),
        client("a", "C"),
        client("a", &format!("{long}1")),
        client("a", &format!("{long}2")),
    ];
    let distinct: BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    // What a client sends never names a derived key: not its text, nor its preimage, nor that preimage's digest.
    let derived = key("a", "b");
    let preimage = r#"{"action":"a","id":"b","tenant":"a"}"#;
    let digest = Digest::of(preimage).to_string();
    assert!(derived.as_str().ends_with(&digest[..40]));
    for text in [derived.as_str(), preimage, &digest, &digest[..40]] {
        let claimed = client("a", text);
        assert_ne!(claimed, derived, "{text}");
        assert!(!claimed.is_derived(), "{text}");
    }
    assert_eq!(client("a", "c").tenant().as_str(), "a");
    // An empty part is not an absent one, which is not null inside.
    let forms: BTreeSet<_> = [parts(&Some("")), parts(&None::<&str>), parts(&Some(None::<&str>))].into();
    assert_eq!(forms.len(), 3);
}

#[test]
fn b10_composed_and_decomposed_text_are_different() {
    let composed = derived(&"caf\u{e9}", &());
    let decomposed = derived(&"cafe\u{301}", &());
    assert_ne!(composed.key, decomposed.key);
    assert_eq!(form("\"cafe\\u0301\"", Mode::Key), "\"cafe\u{301}\"");
    assert_eq!(form("\"caf\\u00e9\"", Mode::Key), "\"caf\u{e9}\"");
}

#[test]
fn b11_an_instant_written_in_two_ways_is_two_texts() {
    let spellings = [
        "2026-03-29T01:30:00Z",
        "2026-03-29T01:30:00+00:00",
        "2026-03-29T01:30:00.0Z",
    ];
    let keys: BTreeSet<_> = spellings.map(|text| derived(&text, &()).key).into();
    assert_eq!(keys.len(), 3);
}

fn form(text: &str, mode: Mode) -> String {
    String::from_utf8(canonical::from_json(text.as_bytes(), mode).unwrap()).unwrap()
}

/// The canonical form of an object with a fixed member and one that may be absent.
fn parts<T: KeyField<Native>>(value: &T) -> Vec<u8> {
    let mut writer = canonical::CanonicalWriter::new(Mode::Key);
    writer
        .object(|members| {
            members.key("a", "fixed")?;
            members.key("b", value)
        })
        .unwrap();
    writer.finish().unwrap()
}
