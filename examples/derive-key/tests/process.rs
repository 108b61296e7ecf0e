//! The program as a process: one line out for each line in, whatever the lines hold.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

#[test]
fn every_vector_gets_its_key() {
    let vectors = include_str!("../../../idem-core/vectors/jcs.jsonl");
    let vectors: Vec<Value> = vectors
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines: Vec<String> = vectors
        .iter()
        .map(|vector| {
            let key = vector["key"].as_str().unwrap();
            let tenant = &key[3..key.rfind('_').unwrap()];
            json!({ "input": vector["input"], "tenant": tenant }).to_string()
        })
        .collect();
    let answers = answers(lines.join("\n").as_bytes());
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(answers) {
        if vector["name"].as_str().unwrap().ends_with("~big-integral") {
            assert!(answer["error"].as_str().unwrap().contains("2^53"), "{answer}");
            continue;
        }
        for member in ["canonical", "sha256", "key"] {
            assert_eq!(answer[member], vector[member], "{}", vector["name"]);
        }
    }
}

#[test]
fn every_refused_line_gets_one_error_with_a_path() {
    let lines: [(&[u8], &str); 16] = [
        (b"", ""),
        (b"   ", ""),
        (b"nonsense", ""),
        (b"\xff\xfe", ""),
        (b"{\"input\":\"1\",\"tenant\":\"\xe9\"}", ""),
        (b"[\"{}\",\"acme\"]", ""),
        (b"null", ""),
        (br#"{"input":"1"}"#, ""),
        (br#"{"tenant":"acme"}"#, ""),
        (br#"{"input":1,"tenant":"acme"}"#, ""),
        (br#"{"input":"1","tenant":"acme","input":"2"}"#, ""),
        (br#"{"input":"1","tenant":"acme","note":1,"n\u006fte":2}"#, ""),
        (br#"{"input":"1","tenant":"acme"} {}"#, ""),
        (br#"{"input":"1","tenant":"a b"}"#, "tenant"),
        (br#"{"input":"","tenant":"acme"}"#, ""),
        (
            br#"{"input":"{\"params\":{\"items\":[0,{\"unit price\":1e400}]}}","tenant":"acme"}"#,
            r#"params.items[1]["unit price"]"#,
        ),
    ];
    let input: Vec<u8> = lines.iter().flat_map(|(line, _)| [*line, b"\n"].concat()).collect();
    let answers = answers(&input);
    assert_eq!(answers.len(), lines.len());
    for ((line, path), answer) in lines.iter().zip(answers) {
        let line = String::from_utf8_lossy(line);
        assert!(!answer["error"].as_str().unwrap().is_empty(), "{line}");
        assert_eq!(answer["path"], *path, "{line}");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{line}");
    }
}

#[test]
fn a_fault_of_the_outer_line_says_what_was_expected() {
    let answer = &answers(b"{\"tenant\":\"acme\"}\n")[0];
    let error = answer["error"].as_str().unwrap();
    assert!(
        error.contains("`input` is missing") && error.contains(r#"expected a JSON object {"input":"#),
        "{error}"
    );
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(answers(br#"{"input":"1","tenant":"t"}"#).len(), 1);
    assert_eq!(answers(b"").len(), 0);
    assert_eq!(answers(b"\n\n").len(), 2);
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_answered() {
    let mut input = vec![b' '; (16 << 20) + 10];
    input.extend_from_slice(b"\n{\"input\":\"1\",\"tenant\":\"t\"}\n");
    let answers = answers(&input);
    assert_eq!(answers.len(), 2);
    assert!(answers[0]["error"].as_str().unwrap().contains("longer than"));
    assert!(answers[1]["key"].is_string());
}

#[test]
fn the_largest_preimage_passes_and_one_byte_more_does_not() {
    // Quotes are escaped in the preimage and again in the line.
    for (quotes, passes) in [(0, true), (1000, true), (1001, false)] {
        let plain = (1 << 20) - 2 - 2 * quotes.min(1000);
        let preimage = Value::from("\"".repeat(quotes) + &"x".repeat(plain)).to_string();
        let answer = &answers(json!({ "input": preimage, "tenant": "t" }).to_string().as_bytes())[0];
        assert_eq!(answer["key"].is_string(), passes, "{quotes}");
    }
}

#[test]
fn a_line_is_answered_before_the_next_one_is_sent() {
    let mut child = program().spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        input.write_all(b"{\"input\":\"1\",\"tenant\":\"t\"}\n").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("dk_t_"), "{answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

fn answers(input: &[u8]) -> Vec<Value> {
    let mut child = program().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_derive-key"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}
