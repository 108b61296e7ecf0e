//! What must hold for any bytes whatsoever. Each function panics when it does not.

use idem_core::CanonicalError;
use idem_core::canonical::{self, CanonicalErrorKind, MAX_BYTES, Mode};
use serde_json::Value;

/// A canonical form is JSON, says the same as the text, is its own form, and is the same in a key as in RFC 8785.
pub fn form(text: &[u8]) {
    for mode in MODES {
        let Ok(form) = canonical::from_json(text, mode) else {
            continue;
        };
        assert!(form.len() <= MAX_BYTES);
        assert_eq!(
            canonical::from_json(&form, mode).expect("a form has a form"),
            form,
            "its own form"
        );
        // A fingerprint keeps numbers that no double holds.
        if mode != Mode::Fingerprint {
            let said: Value = serde_json::from_slice(text).expect("serde_json reads what was accepted");
            let written: Value = serde_json::from_slice(&form).expect("a form is JSON");
            assert_eq!(doubles(said), doubles(written), "the form says the same");
        }
        if mode == Mode::Key {
            let plain = canonical::from_json(text, Mode::Form).expect("what a key takes, RFC 8785 takes");
            assert_eq!(plain, form, "a key is plain RFC 8785");
        }
    }
}

/// A header is a key by both rules or by the lenient one alone, and then the same one; a key written in quotes is that key.
pub fn key_header(value: &[u8]) {
    let (lenient, strict) = (idem_tower::parse_key(value, false), idem_tower::parse_key(value, true));
    if let Ok(strict) = &strict {
        assert_eq!(lenient.as_ref().expect("what is strict is lenient"), strict);
    }
    let Ok(key) = lenient else { return };
    let text = key.as_str();
    assert!((1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_eq!(
        strict.is_ok(),
        value.starts_with(b"\""),
        "quotes are what strictness asks for"
    );
    if strict.is_err() {
        assert_eq!(text.as_bytes(), value, "a bare key is as it stands");
    }
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    assert_eq!(
        idem_tower::parse_key(quoted.as_bytes(), true).expect("a key in quotes"),
        key
    );
}

/// The reader takes what JSON is and nothing else; serde_json is the judge. What it refuses beyond that, it refuses for
/// a reason of its own, and says where.
pub fn parser(text: &[u8]) {
    let judged = serde_json::from_slice::<Value>(text);
    for mode in MODES {
        match (canonical::from_json(text, mode), &judged) {
            (Ok(_), Ok(_)) => {}
            // A fingerprint keeps numbers that no double holds.
            (Ok(_), Err(error)) => assert!(
                mode == Mode::Fingerprint && error.to_string().contains("number out of range"),
                "accepted what is no JSON: {error}"
            ),
            (Err(error), Ok(_)) => {
                assert!(
                    !matches!(error.kind(), CanonicalErrorKind::Syntax | CanonicalErrorKind::Encoding),
                    "refused what is JSON: {error}"
                );
                assert!(error.offset().is_none_or(|offset| offset <= text.len()), "{error}");
            }
            (Err(error), Err(_)) => assert!(error.offset().is_none_or(|offset| offset <= text.len()), "{error}"),
        }
    }
}

/// `serde_json_canonicalizer` writes the same, wherever both write.
pub fn reference(text: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(text) else {
        return;
    };
    let Ok(expected) = serde_json_canonicalizer::to_vec(&value) else {
        return;
    };
    for mode in [Mode::Form, Mode::Key] {
        // A `Value` holds no name twice, so of the refusals only those of numbers and sizes are left.
        match canonical::to_vec(&value, mode) {
            Ok(form) => assert_eq!(form, expected, "through serde"),
            Err(error) => assert!(is_of_keys(&error, mode), "through serde: {error}"),
        }
        match canonical::from_json(text, mode) {
            Ok(form) => assert_eq!(form, expected, "from the text"),
            Err(error) => assert!(
                is_of_keys(&error, mode) || error.kind() == CanonicalErrorKind::DuplicateName,
                "from the text: {error}"
            ),
        }
    }
}

fn is_of_keys(error: &CanonicalError, mode: Mode) -> bool {
    match error.kind() {
        CanonicalErrorKind::TooLarge | CanonicalErrorKind::TooDeep => true,
        CanonicalErrorKind::IntegerOutOfRange => mode == Mode::Key,
        _ => false,
    }
}

/// Every number as a double, as the form has it.
fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, |number| (number + 0.0).into()),
        Value::Array(elements) => elements.into_iter().map(doubles).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, doubles(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

const MODES: [Mode; 3] = [Mode::Key, Mode::Fingerprint, Mode::Form];
