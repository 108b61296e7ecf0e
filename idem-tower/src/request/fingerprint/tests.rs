use http::{HeaderValue, Request};

use super::*;

fn print(uri: &str, content_type: &str, body: &[u8]) -> Digest {
    print_by(&Comparison::default(), uri, content_type, body)
}

fn print_by(comparison: &Comparison, uri: &str, content_type: &str, body: &[u8]) -> Digest {
    let request = Request::post(uri).header(CONTENT_TYPE, content_type).body(()).unwrap();
    let (parts, ()) = request.into_parts();
    fingerprint(&Seen { parts: &parts, body }, comparison)
}

fn json(body: &str) -> Digest {
    print("/x", "application/json", body.as_bytes())
}

#[test]
fn json_is_compared_by_its_value() {
    assert_eq!(
        json(r#"{"a":1,"b":[1,2]}"#),
        json("{ \"b\" : [1.0, 2e0], \"\\u0061\" : 1 }")
    );
    for (one, other) in [
        (r#"{"a":null}"#, "{}"),
        ("[1,2]", "[2,1]"),
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.10000000000000001"),
        ("1e400", "1e401"),
        ("1e-400", "0"),
        ("\"é\"", "\"e\u{301}\""),
        ("\"1\"", "1"),
    ] {
        assert_ne!(json(one), json(other), "{one} {other}");
    }
    assert_eq!(json("-0"), json("0"));
    assert_eq!(json("1e2"), json("100.0"));
}

#[test]
fn what_is_no_json_counts_as_its_bytes() {
    assert_eq!(json("{"), json("{"));
    assert_ne!(json("{"), json("{ "));
    assert_ne!(json(r#"{"a":1,"a":2}"#), json(r#"{"a":2}"#));
    assert_ne!(json(r#"{"a":1,"a":2}"#), json(r#"{"a":1,"a":3}"#));
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert_ne!(json(&deep), json(&format!("{deep} ")));
    assert_ne!(json(""), print("/x", "text/plain", b""));
}

#[test]
fn the_type_counts_by_its_essence() {
    let body = br#"{"a":1}"#;
    let plain = print("/x", "application/json", body);
    assert_eq!(plain, print("/x", "Application/JSON ; charset=utf-8", body));
    assert_ne!(plain, print("/x", "application/problem+json", body));
    assert_eq!(
        print("/x", "application/problem+json", body),
        print("/x", "application/problem+json;v=1", br#"{ "a": 1 }"#)
    );
    assert_ne!(
        print("/x", "text/json", body),
        print("/x", "text/json", br#"{ "a": 1 }"#),
        "not a JSON type"
    );
}

#[test]
fn parts_do_not_run_into_each_other() {
    assert_ne!(print("/a?bc=1", "t/t", b""), print("/ab?c=1", "t/t", b""));
    assert_ne!(print("/a?b=c", "t/t", b""), print("/a?b=&c=", "t/t", b""));
    assert_ne!(print("/a", "t/t", b"x"), print("/a", "t/tx", b""));
}

#[test]
fn raw_multipart_and_excluded_are_opted_into() {
    let raw = Comparison {
        raw: true,
        ..Comparison::default()
    };
    assert_ne!(
        print_by(&raw, "/x", "application/json", b"{}"),
        print_by(&raw, "/x", "application/json", b"{ }")
    );
    let form = |boundary: &str| format!("--{boundary}\r\n\r\none\r\n--{boundary}--\r\n").into_bytes();
    let kind = |boundary: &str| format!("multipart/form-data; boundary={boundary}");
    let by_parts = Comparison {
        multipart_by_parts: true,
        ..Comparison::default()
    };
    for (comparison, same) in [(Comparison::default(), false), (by_parts, true)] {
        let one = print_by(&comparison, "/x", &kind("a"), &form("a"));
        let other = print_by(&comparison, "/x", &kind("b"), &form("b"));
        assert_eq!(one == other, same);
    }
    let excluded = Comparison {
        excluded: vec![Pointer::parse("/at").unwrap()],
        ..Comparison::default()
    };
    let at = |body: &str| print_by(&excluded, "/x", "application/json", body.as_bytes());
    assert_eq!(at(r#"{"a":1,"at":5}"#), at(r#"{"at":6,"a":1}"#));
    assert_ne!(at(r#"{"a":1,"at":5}"#), at(r#"{"a":2,"at":5}"#));
}

#[test]
fn two_types_are_not_json() {
    let mut headers = HeaderMap::new();
    headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    assert!(is_json(&headers));
    headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    assert!(!is_json(&headers));
}
