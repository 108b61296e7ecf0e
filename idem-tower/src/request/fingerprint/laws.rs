//! What holds for every body and query.

use http::Request;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// A document, apart from how it is written.
#[derive(Clone, Debug, PartialEq)]
enum Document {
    Null,
    Flag(bool),
    /// Thousandths, so that there is more than one way to write it.
    Number(i32),
    Text(String),
    List(Vec<Document>),
    Object(std::collections::BTreeMap<String, Document>),
}

fn document() -> impl Strategy<Value = Document> {
    let leaf = prop_oneof![
        Just(Document::Null),
        any::<bool>().prop_map(Document::Flag),
        any::<i32>().prop_map(Document::Number),
        any::<String>().prop_map(Document::Text),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Document::List),
            prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(Document::Object),
        ]
    })
}

/// Writes a document in one of many ways, which `dice` chooses.
fn write(document: &Document, dice: &mut u64, out: &mut String) {
    let mut roll = |count: u64| {
        *dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*dice >> 33) % count
    };
    out.push_str(["", " ", "\n\t"][roll(3) as usize]);
    match document {
        Document::Null => out.push_str("null"),
        Document::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Document::Number(thousandths) => {
            let sign = if *thousandths < 0 { "-" } else { "" };
            let all = thousandths.unsigned_abs();
            match roll(4) {
                0 => out.push_str(&format!("{sign}{all}e-3")),
                1 => out.push_str(&format!("{sign}{}.{:03}", all / 1000, all % 1000)),
                2 => out.push_str(&format!("{sign}{all}00E-5")),
                _ if all % 1000 == 0 => out.push_str(&format!("{sign}{}", all / 1000)),
                _ => out.push_str(&format!("{sign}{}.{:03}0e+0", all / 1000, all % 1000)),
            }
        }
        Document::Text(text) => write_text(text, roll(2) == 0, out),
        Document::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, dice, out);
            }
            out.push(']');
        }
        Document::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if !members.is_empty() {
                let turn = roll(members.len() as u64) as usize;
                members.rotate_left(turn);
            }
            let escapes = roll(2) == 0;
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(" ,");
                }
                write_text(name, escapes, out);
                out.push_str(" : ");
                write(value, dice, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, escapes: bool, out: &mut String) {
    if !escapes {
        out.push_str(&serde_json::to_string(text).unwrap());
        return;
    }
    out.push('"');
    for unit in text.encode_utf16() {
        out.push_str(&format!("\\u{unit:04x}"));
    }
    out.push('"');
}

fn written(document: &Document, mut dice: u64) -> String {
    let mut out = String::new();
    write(document, &mut dice, &mut out);
    out
}

fn print(comparison: &Comparison, uri: &str, body: &str) -> Digest {
    let request = Request::post(uri)
        .header(CONTENT_TYPE, "application/json")
        .body(())
        .unwrap();
    let (parts, ()) = request.into_parts();
    let body = body.as_bytes();
    fingerprint(&Seen { parts: &parts, body }, comparison)
}

fn json(body: &str) -> Digest {
    print(&Comparison::default(), "/x", body)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_document_has_one_fingerprint_however_it_is_written(document in document(), one: u64, other: u64) {
        let (one, other) = (written(&document, one), written(&document, other));
        prop_assert_eq!(json(&one), json(&other), "{} and {}", one, other);
    }

    #[test]
    fn another_document_has_another_fingerprint(one in document(), other in document(), dice: u64) {
        prop_assume!(one != other);
        prop_assert_ne!(json(&written(&one, dice)), json(&written(&other, dice)));
    }

    #[test]
    fn names_of_a_query_may_be_turned_and_repeats_may_not(values in prop::collection::vec("[a-z]{0,3}", 1..6), turn: usize) {
        let pairs: Vec<String> = values.iter().enumerate().map(|(index, value)| format!("n{index}={value}")).collect();
        let mut turned = pairs.clone();
        turned.rotate_left(turn % pairs.len());
        let of = |pairs: &[String]| print(&Comparison::default(), &format!("/x?{}", pairs.join("&")), "");
        prop_assert_eq!(of(&pairs), of(&turned));
        let repeats: Vec<String> = values.iter().map(|value| format!("n={value}")).collect();
        let mut backwards = repeats.clone();
        backwards.reverse();
        prop_assert_eq!(of(&repeats) == of(&backwards), repeats == backwards);
    }

    #[test]
    fn what_is_excluded_is_taken_out_as_from_a_tree(document in document(), path in prop::collection::vec("[ab01~/]{0,2}", 1..4)) {
        let text = written(&document, 1);
        let pointer = path.iter().fold(String::new(), |pointer, token| {
            format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
        });
        let form = canonical::from_json(text.as_bytes(), Mode::Fingerprint).unwrap();
        let left = without(&form, &[Pointer::parse(&pointer).unwrap()]);
        let mut tree: Value = serde_json::from_slice(&form).unwrap();
        take_out(&mut tree, &path);
        prop_assert_eq!(serde_json::from_slice::<Value>(&left).unwrap(), tree, "{} of {}", pointer, text);
    }

    #[test]
    fn a_multipart_body_is_its_parts(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..4), one in "[a-z]{8}", other in "[A-Z]{9}") {
        let compose = |boundary: &str| {
            let mut body = Vec::new();
            for part in &parts {
                body.extend_from_slice(format!("--{boundary}\r\nX: y\r\n\r\n").as_bytes());
                body.extend_from_slice(part);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
            body
        };
        let (first, second) = (compose(&one), compose(&other));
        let found = multipart::parts(&one, &first).unwrap();
        prop_assert_eq!(&found, &multipart::parts(&other, &second).unwrap());
        prop_assert!(found.iter().map(|(_, content)| *content).eq(parts.iter().map(Vec::as_slice)));
    }
}

/// The naive way: a member goes with its name, an element leaves `null`.
fn take_out(tree: &mut Value, path: &[String]) {
    let [token, rest @ ..] = path else { return };
    match tree {
        Value::Object(members) if rest.is_empty() => drop(members.remove(token)),
        Value::Object(members) => members
            .get_mut(token)
            .into_iter()
            .for_each(|value| take_out(value, rest)),
        Value::Array(items) => {
            let index = token.parse::<usize>().ok().filter(|index| index.to_string() == *token);
            if let Some(item) = index.and_then(|index| items.get_mut(index)) {
                match rest.is_empty() {
                    true => *item = Value::Null,
                    false => take_out(item, rest),
                }
            }
        }
        _ => {}
    }
}
