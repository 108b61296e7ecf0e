//! The targets on a stable compiler: over the vectors, over what differs from a vector in a few bytes, and over random
//! texts made of JSON's own tokens.

use proptest::prelude::*;
use serde_json::Value;

fn all(text: &[u8]) {
    idem_fuzz::form(text);
    idem_fuzz::parser(text);
    idem_fuzz::reference(text);
    idem_fuzz::key_header(text);
}

fn vectors() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../idem-core/vectors/jcs.jsonl"),
        include_str!("../../idem-core/vectors/jcs-reject.jsonl"),
    ];
    files
        .iter()
        .flat_map(|file| file.lines())
        .filter_map(|line| {
            serde_json::from_str::<Value>(line).expect("each line is JSON")["input"]
                .as_str()
                .map(Vec::from)
        })
        .collect()
}

#[test]
fn the_vectors_pass() {
    let vectors = vectors();
    assert!(vectors.len() > 300);
    vectors.iter().for_each(|text| all(text));
}

fn tokens() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"\\u0061\"",
        "\"b\":",
        "\"\u{fb33}\":",
        "\"\u{1f600}\":",
        "\\ud83d",
        "\\ude00",
        "\\",
        "\u{7f}",
        " ",
        "\n",
        "\u{a0}",
        "\u{feff}",
        "-",
        "+",
        "0",
        "1",
        "01",
        ".",
        ".5",
        "e",
        "E+",
        "e-7",
        "1e400",
        "1e21",
        "9007199254740991",
        "9007199254740993",
        "18446744073709551616",
        "0.1",
        "5e-324",
        "true",
        "null",
        "nul",
        "NaN",
        "/*",
        "\"$serde_json::private::Number\":",
    ]);
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn texts_of_tokens_pass(text in tokens()) {
        all(&text);
    }

    #[test]
    fn bytes_pass(text in prop::collection::vec(any::<u8>(), 0..64)) {
        all(&text);
    }

    #[test]
    fn what_nearly_is_a_vector_passes(
        vector in prop::sample::select(vectors()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
    ) {
        let mut text = vector;
        for (at, byte, edit) in edits {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match edit {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        all(&text);
    }
}

fn header() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "\"",
        "\"",
        "\\",
        "\\\"",
        "k",
        "8e03978e-40d5",
        ";",
        "a=1",
        "?1",
        ":AA==:",
        "@1",
        ",",
        " ",
        "\t",
        "*",
        "~",
        "\u{fc}",
        "%",
        "/",
    ]);
    prop_oneof![
        prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..300),
        "\"[ -~]{0,260}\"".prop_map(String::into_bytes),
        "[!-~]{0,260}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn headers_pass(value in header()) {
        idem_fuzz::key_header(&value);
    }
}
