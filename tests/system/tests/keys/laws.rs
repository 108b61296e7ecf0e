//! Laws, held against `serde_json_canonicalizer` and against arithmetic.

use idem_core::canonical::{self, CanonicalErrorKind, Mode};
use proptest::prelude::*;
use serde_json::{Map, Value};

const SAFE: i64 = (1 << 53) - 1;

/// Characters where orders, escapes and planes differ.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        any::<char>(),
        prop::char::range('\u{0}', '\u{7f}'),
        prop::char::range('\u{d7f0}', '\u{d7ff}'),
        prop::char::range('\u{e000}', '\u{ffff}'),
        prop::char::range('\u{10000}', '\u{10ffff}'),
    ]
}

fn string() -> impl Strategy<Value = String> {
    prop::collection::vec(character(), 0..6).prop_map(String::from_iter)
}

fn number() -> impl Strategy<Value = Value> {
    let double = any::<f64>().prop_filter("no finite number with a key", |value| {
        value.is_finite() && !(value.abs() > SAFE as f64 && value.abs() < 1e21)
    });
    prop_oneof![(-SAFE..=SAFE).prop_map(Value::from), double.prop_map(Value::from)]
}

fn json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        string().prop_map(Value::from)
    ];
    scalar.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((string(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Writes JSON as another party might: members backwards, spaces, every character escaped.
fn spell(value: &Value) -> String {
    let escaped = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(text) => escaped(text),
        Value::Array(elements) => format!("[ {} ]", elements.iter().map(spell).collect::<Vec<_>>().join(" ,\n")),
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .rev()
                .map(|(name, value)| format!("{}\t: {}", escaped(name), spell(value)))
                .collect();
            format!("{{ {} }}", members.join(","))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn the_form_is_that_of_the_reference(value in json()) {
        let expected = serde_json_canonicalizer::to_vec(&value).unwrap();
        for mode in [Mode::Key, Mode::Form, Mode::Fingerprint] {
            prop_assert_eq!(&canonical::to_vec(&value, mode).unwrap(), &expected);
        }
    }

    #[test]
    fn spelling_makes_no_difference(value in json()) {
        let expected = canonical::to_vec(&value, Mode::Key).unwrap();
        prop_assert_eq!(&canonical::from_json(value.to_string().as_bytes(), Mode::Key).unwrap(), &expected);
        prop_assert_eq!(&canonical::from_json(spell(&value).as_bytes(), Mode::Key).unwrap(), &expected);
        prop_assert_eq!(&canonical::from_json(&expected, Mode::Key).unwrap(), &expected);
    }

    #[test]
    fn names_are_sorted_by_utf16_units(names in prop::collection::btree_set(string(), 0..12).prop_shuffle_vec()) {
        let mut sorted = names.clone();
        sorted.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        let member = |name: &String| [canonical::to_vec(name, Mode::Key).unwrap(), b":0".to_vec()].concat();
        let object = |names: &[String]| {
            let members: Vec<_> = names.iter().map(member).collect();
            [b"{", members.join(&b',').as_slice(), b"}"].concat()
        };
        prop_assert_eq!(canonical::from_json(&object(&names), Mode::Key).unwrap(), object(&sorted));
    }

    #[test]
    fn a_name_given_twice_is_refused_wherever_it_stands(
        names in prop::collection::btree_set(string(), 1..8).prop_shuffle_vec(),
        again in any::<prop::sample::Index>(),
    ) {
        let twice = again.get(&names).clone();
        let members: Vec<_> = names.iter().chain([&twice]).map(|name| format!("{}:0", spell(&Value::from(name.as_str())))).collect();
        let text = format!("[{{{}}}]", members.join(","));
        let error = canonical::from_json(text.as_bytes(), Mode::Key).unwrap_err();
        prop_assert_eq!(error.kind(), CanonicalErrorKind::DuplicateName);
        prop_assert_eq!(error.offset(), text.rfind(&members[members.len() - 1]));
    }

    #[test]
    fn doubles_are_spelled_as_the_reference_spells_them(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        match canonical::to_vec(&value, Mode::Form) {
            Ok(form) => prop_assert_eq!(form, serde_json_canonicalizer::to_vec(&value).unwrap()),
            Err(_) => prop_assert!(!value.is_finite()),
        }
    }

    #[test]
    fn integers_have_a_key_within_the_safe_range_only(value in any::<i64>()) {
        let form = canonical::to_vec(&value, Mode::Key);
        prop_assert_eq!(form.is_ok(), value.abs_diff(0) <= SAFE as u64);
        prop_assert_eq!(&form.is_ok(), &canonical::from_json(value.to_string().as_bytes(), Mode::Key).is_ok());
        prop_assert_eq!(canonical::to_vec(&value, Mode::Fingerprint).unwrap(), value.to_string().into_bytes());
    }

    #[test]
    fn a_decimal_has_one_fingerprint_however_its_point_is_placed(
        digits in "[1-9][0-9]{0,40}", zeros in 0_usize..5, shift in -60_i32..60,
    ) {
        let form = |text: String| String::from_utf8(canonical::from_json(text.as_bytes(), Mode::Fingerprint).unwrap()).unwrap();
        let expected = form(format!("{digits}e{shift}"));
        let zeros = "0".repeat(zeros);
        prop_assert_eq!(&form(format!("{digits}.{zeros}0E{shift:+}")), &expected);
        prop_assert_eq!(&form(format!("0.{zeros}{digits}e{}", shift + (digits.len() + zeros.len()) as i32)), &expected);
        prop_assert_eq!(&form(format!("{digits}{zeros}e{}", shift - zeros.len() as i32)), &expected);
        // What ECMAScript can hold exactly, it spells alike.
        if digits.trim_end_matches('0').len() <= 15 {
            let double: f64 = format!("{digits}e{shift}").parse().unwrap();
            prop_assert_eq!(&String::from_utf8(canonical::to_vec(&double, Mode::Fingerprint).unwrap()).unwrap(), &expected);
        }
        prop_assert_eq!(&form(expected.clone()), &expected);
    }

    #[test]
    fn two_decimals_share_a_fingerprint_only_when_equal(a in "[0-9]{1,12}", b in "[0-9]{1,12}", point in 0_usize..12) {
        let number = |digits: &str| {
            let padded = format!("{digits:0>13}");
            let (whole, fraction) = padded.split_at(13 - point);
            let whole = whole.trim_start_matches('0');
            format!("{}{whole}.{fraction}0", if whole.is_empty() { "0" } else { "" })
        };
        let form = |text: String| canonical::from_json(text.as_bytes(), Mode::Fingerprint).unwrap();
        let equal = a.parse::<u64>().unwrap() == b.parse::<u64>().unwrap();
        prop_assert_eq!(form(number(&a)) == form(number(&b)), equal);
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let form = canonical::from_json(&bytes, Mode::Form);
        prop_assert!(form.is_err() || serde_json::from_slice::<Value>(&bytes).is_ok());
    }

    #[test]
    fn near_json_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"0-9.eE+\-truefalsnu\\/ \n]{0,24}"#) {
        let ours = canonical::from_json(text.as_bytes(), Mode::Form);
        match (serde_json::from_str::<Value>(&text), ours) {
            (Ok(_), Err(error)) => prop_assert_eq!(error.kind(), CanonicalErrorKind::DuplicateName, "{}", text),
            (theirs, ours) => prop_assert_eq!(theirs.is_ok(), ours.is_ok(), "{}", text),
        }
    }
}

/// A set of strings, in an order of its own.
trait Shuffled: Strategy {
    fn prop_shuffle_vec(self) -> BoxedStrategy<Vec<String>>;
}

impl<S: Strategy<Value = std::collections::BTreeSet<String>> + 'static> Shuffled for S {
    fn prop_shuffle_vec(self) -> BoxedStrategy<Vec<String>> {
        self.prop_map(Vec::from_iter).prop_shuffle().boxed()
    }
}
