//! Whether the features are on at all, and what they do to a value on its way to a key.

use idem::canonical::{self, Mode};
use idem::{Decision, Digest, IdempotencyKey, Tenant, derive, idempotent};
use rust_decimal::Decimal;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[test]
fn the_features_are_on() {
    let value: Value = serde_json::from_str(r#"{"b":1.10,"a":123456789012345678901234567890}"#).unwrap();
    // `preserve_order` and `arbitrary_precision`.
    assert_eq!(value.to_string(), r#"{"b":1.10,"a":123456789012345678901234567890}"#);
    // `raw_value`.
    assert_eq!(serde_json::from_str::<Box<RawValue>>("1.0").unwrap().get(), "1.0");
    // `serde-float`.
    assert!(serde_json::to_value(Decimal::new(15, 1)).unwrap().is_number());
}

#[test]
fn literals_and_orders_make_no_difference() {
    let first: Value = serde_json::from_str(r#"{"b":1.0,"a":{"y":1e1,"x":-0.0}}"#).unwrap();
    let second: Value = serde_json::from_str(r#"{"a":{"x":0,"y":10},"b":1}"#).unwrap();
    for mode in [Mode::Key, Mode::Fingerprint, Mode::Form] {
        let form = canonical::to_vec(&first, mode).unwrap();
        assert_eq!(form, br#"{"a":{"x":0,"y":10},"b":1}"#);
        assert_eq!(form, canonical::to_vec(&second, mode).unwrap());
    }
}

#[test]
fn a_number_that_kept_its_literal_is_refused_all_the_same() {
    for literal in ["9007199254740993", "-9007199254740992", "18446744073709551616"] {
        let value: Value = serde_json::from_str(&format!(r#"{{"amount":{literal}}}"#)).unwrap();
        let error = canonical::to_vec(&value, Mode::Key).unwrap_err();
        assert_eq!(error.path(), "amount", "{literal}");
    }
}

#[test]
fn text_that_nobody_read_is_refused_in_a_key_and_read_in_a_fingerprint() {
    let raw: Box<RawValue> = serde_json::from_str(r#"{ "b": 1.0, "a": 2 }"#).unwrap();
    assert!(canonical::to_vec(&raw, Mode::Key).is_err());
    assert_eq!(canonical::to_vec(&raw, Mode::Fingerprint).unwrap(), br#"{"a":2,"b":1}"#);
    let twice: Box<RawValue> = serde_json::from_str(r#"{"a":1,"a":2}"#).unwrap();
    assert!(canonical::to_vec(&twice, Mode::Fingerprint).is_err());
}

#[test]
fn a_decimal_in_a_key_is_a_string_whatever_serde_makes_of_it() {
    #[idempotent(action = "pay", key = [amount], tenant = none)]
    struct Pay {
        amount: Decimal,
    }
    let preimage = |amount: &str| {
        let pay = Pay {
            amount: amount.parse().unwrap(),
        };
        String::from_utf8(derive(&pay, None).unwrap().preimage).unwrap()
    };
    assert_eq!(preimage("1.50"), r#"{"action":"pay","amount":"1.5"}"#);
    assert_eq!(preimage("1.5"), preimage("1.500"));
}

#[test]
fn a_decision_has_the_key_that_it_has_without_the_features() {
    let text = json!({
        "tenantId": "acme",
        "subject": { "type": "customer", "id": "c-7" },
        "action": "limit.raise",
        "params": { "limit": 5000.0, "currency": "EUR" },
        "model": { "id": "gpt-x", "version": "2026-08-14" },
        "promptTemplateSha256": Digest::of(""),
        "policyVersion": "30",
    });
    let decision = Decision::from_json(text.to_string().as_bytes()).unwrap();
    let preimage = concat!(
        r#"{"action":"limit.raise","model":{"id":"gpt-x","version":"2026-08-14"},"#,
        r#""params":{"currency":"EUR","limit":5000},"policyVersion":"30","#,
        r#""promptTemplateSha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","#,
        r#""subject":{"id":"c-7","type":"customer"},"tenantId":"acme"}"#,
    );
    assert_eq!(
        IdempotencyKey::derive(&decision).unwrap(),
        IdempotencyKey::from_json(&Tenant::parse("acme").unwrap(), preimage.as_bytes()).unwrap()
    );
}
