//! The requests of the README, and what it says of their answers.

use crate::database::Database;
use crate::program::Program;

#[test]
fn every_request_of_the_readme_is_answered_as_it_says() {
    for database in Database::both() {
        follow_the_readme(&database);
    }
}

fn follow_the_readme(database: &Database) {
    let gateway = Program::gateway("127.0.0.1:0");
    let service = Program::orders(database, gateway.address);
    let examples = examples(include_str!("../../README.md"));
    assert_eq!(examples.len(), 9);
    for (command, expected) in examples {
        let Curl {
            target,
            method,
            headers,
            body,
        } = Curl::parse(&command);
        let (port, path) = target.split_once('/').expect("a path");
        let program = match port {
            "localhost:3000" => &service,
            "localhost:3001" => &gateway,
            _ => panic!("{command}: who is that?"),
        };
        let response = program.send(&method, &format!("/{path}"), &headers, &body);
        let (head, body) = response.split_once("\n\n").expect("a head");
        let (expected_head, expected_body) = expected.split_once("\n\n").unwrap_or((&expected, body));
        for line in expected_head.lines() {
            assert!(
                head.lines().any(|sent| sent == line),
                "{command}\nhas no `{line}`:\n{response}"
            );
        }
        let is_replay = |head: &str| head.contains("idempotent-replayed");
        assert_eq!(is_replay(head), is_replay(expected_head), "{command}\n{response}");
        assert_eq!(body, expected_body.trim_end(), "{command}");
    }
    assert!(service.stop(), "it ends well");
}

/// Each command of the `console` blocks, with what follows it.
fn examples(readme: &str) -> Vec<(String, String)> {
    let blocks = readme.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").expect("an end").0);
    let examples = blocks.flat_map(|block| block.split("$ ").skip(1));
    let parts = examples.map(|example| example.split_once('\n').expect("an answer"));
    parts
        .map(|(command, answer)| (command.into(), answer.trim_end().into()))
        .collect()
}

/// As much of curl as the README uses.
struct Curl {
    target: String,
    method: String,
    headers: Vec<String>,
    body: String,
}

impl Curl {
    fn parse(command: &str) -> Self {
        let mut words = words(command).into_iter();
        assert_eq!(words.next().as_deref(), Some("curl"));
        let mut curl = Self {
            target: String::new(),
            method: "GET".into(),
            headers: Vec::new(),
            body: String::new(),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "-i" => {}
                "-X" => curl.method = words.next().expect("a method"),
                "-H" => curl.headers.push(words.next().expect("a header")),
                "--json" => {
                    curl.method = "POST".into();
                    curl.headers.push("Content-Type: application/json".into());
                    curl.headers.push("Accept: application/json".into());
                    curl.body = words.next().expect("a body");
                }
                _ => curl.target = word,
            }
        }
        curl
    }
}

/// Splits at spaces outside of single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in command.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(character),
        }
    }
    words
}
