use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Rules, parse_key};

fn text(value: &[u8]) -> Option<String> {
    parse_key(value, false).ok().map(|key| key.as_str().to_owned())
}

#[test]
fn quoted_and_bare_are_one_key() {
    assert_eq!(text(b"\"K-1\"").as_deref(), Some("K-1"));
    assert_eq!(text(b"K-1").as_deref(), Some("K-1"));
    assert_eq!(text(br#""a\"b\\c""#).as_deref(), Some(r#"a"b\c"#));
    assert_eq!(text(br#""k";v=1;w"#).as_deref(), Some("k"), "parameters are ignored");
}

#[test]
fn what_services_send_unquoted_is_taken_as_it_stands() {
    for bare in [
        "12345",
        ":YWJj:",
        "@1659578233",
        "stainless-node-retry-0e8a",
        "YWJjZA==",
        "a/b",
    ] {
        assert_eq!(text(bare.as_bytes()).as_deref(), Some(bare));
        assert!(parse_key(bare.as_bytes(), true).is_err(), "{bare}");
    }
}

#[test]
fn what_is_no_key_is_refused_with_its_reason() {
    let cases: [(&[u8], &str); 17] = [
        (b"", "empty"),
        (b"\"\"", "1 to 255"),
        (b"\"   \"", "space"),
        (b"\"a b\"", "space"),
        (b"\"foo\\,\"", "RFC 9651"),
        (b"\"f\xc3\xbc\xc3\xbc\"", "RFC 9651"),
        (b"\"a\tb\"", "RFC 9651"),
        (b"\"a", "RFC 9651"),
        (b"\"a\" x", "RFC 9651"),
        (b"\"a\", \"b\"", "RFC 9651"),
        (b"a,b", "unquoted"),
        (b"abc;v=1", "unquoted"),
        (b"?1", "unquoted"),
        (b"%\"abc\"", "unquoted"),
        (b"a b", "unquoted"),
        (b"a\\b", "unquoted"),
        (b"\xff", "unquoted"),
    ];
    for (value, reason) in cases {
        let error = parse_key(value, false).unwrap_err();
        assert!(error.reason().contains(reason), "{value:?}: {error}");
        assert!(parse_key(value, true).is_err(), "{value:?}");
    }
}

#[test]
fn length_is_that_of_the_decoded_text() {
    let escaped = |count: usize| format!("\"{}\"", "\\\\".repeat(count));
    assert_eq!(text(escaped(255).as_bytes()).map(|key| key.len()), Some(255));
    assert_eq!(text(escaped(256).as_bytes()), None);
    assert_eq!(text("k".repeat(255).as_bytes()).map(|key| key.len()), Some(255));
    assert_eq!(text("k".repeat(256).as_bytes()), None);
}

#[test]
fn limits_and_repeats_are_the_services() {
    let name = HeaderName::from_static("idempotency-key");
    let rules = Rules {
        name: name.clone(),
        strict: false,
        shortest: 16,
        longest: 40,
    };
    let mut headers = HeaderMap::new();
    assert!(rules.read(&headers).unwrap().is_none());
    for (key, legal) in [(15, false), (16, true), (40, true), (41, false)] {
        headers.insert(&name, HeaderValue::from_str(&"k".repeat(key)).unwrap());
        assert_eq!(rules.read(&headers).is_ok(), legal, "{key}");
    }
    let value = HeaderValue::from_static("0123456789abcdef");
    headers.insert(&name, value.clone());
    headers.append(&name, value);
    assert!(rules.read(&headers).unwrap_err().reason().contains("more than once"));
}
