//! What cannot be served is refused whole, with the place named.

use crate::support::{Database, Folder, run};

/// A line with one thing wrong, what the message must say, and where it must say it is.
const BAD_LINES: &[(&str, &str)] = &[
    // Not JSON, or not one call.
    ("{", "expected"),
    ("not json", "expected"),
    (r#"{"task":1"#, "expected"),
    (
        r#"{"task":NaN,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    (
        r#"{"task":-Infinity,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    ("[]", "expected an object"),
    ("null", "expected an object"),
    ("{}", "task: the member is missing"),
    (
        r#"{"task":1,"task":1,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    (
        r#"{"task":1,"t\u0061sk":2,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    (
        r#"{"task":"1","trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: expected an integer, found a string",
    ),
    (
        r#"{"task":1.5,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: expected an integer, found 1.5",
    ),
    (
        r#"{"task":9007199254740993,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    (
        r#"{"task":1e400,"trial":0,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "task: ",
    ),
    (
        r#"{"task":1,"trial":null,"seq":1,"tool":"t","arguments":"{}","result":""}"#,
        "trial: expected an integer, found null",
    ),
    (
        r#"{"task":1,"trial":0,"tool":"t","arguments":"{}","result":""}"#,
        "seq: the member is missing",
    ),
    (
        r#"{"task":1,"trial":0,"seq":1,"tool":7,"arguments":"{}","result":""}"#,
        "tool: expected a string, found 7",
    ),
    (
        r#"{"task":1,"trial":0,"seq":1,"tool":"sell_shares","arguments":"{}","result":""}"#,
        "tool: unknown tool `sell_shares`",
    ),
    (
        r#"{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":{},"result":""}"#,
        "arguments: expected a string, found an object",
    ),
    (
        r#"{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"{}"}"#,
        "result: the member is missing",
    ),
    (
        r#"{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"\ud800","result":""}"#,
        "arguments: ",
    ),
];

/// Arguments with one thing wrong.
const BAD_ARGUMENTS: &[(&str, &str, &str)] = &[
    ("cancel_reservation", "", "arguments: "),
    (
        "cancel_reservation",
        "[]",
        "arguments: expected an object, found an array",
    ),
    (
        "cancel_reservation",
        "{}",
        "arguments.reservation_id: the member is missing",
    ),
    (
        "cancel_reservation",
        r#"{"reservation_id":null}"#,
        "arguments.reservation_id: expected a string, found null",
    ),
    (
        "cancel_reservation",
        r#"{"reservation_id":"A","reservation_id":"B"}"#,
        "arguments.reservation_id: ",
    ),
    ("cancel_reservation", r#"{"reservation_id":"A"} x"#, "arguments: "),
    (
        "cancel_reservation",
        r#"{"reservation_id":"A","why":{"a":[{"b":1,"b":2}]}}"#,
        "arguments.why.a[0].b: ",
    ),
    (
        "cancel_reservation",
        r#"{"reservation_id":"A","extra":9007199254740993}"#,
        "arguments.extra: ",
    ),
    (
        "cancel_reservation",
        r#"{"reservation_id":"A\u0000"}"#,
        "arguments.reservation_id: U+0000 has no place in an identifier",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u"}"#,
        "arguments.amount: the member is missing",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u","amount":"200"}"#,
        "arguments.amount: expected an amount",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u","amount":NaN}"#,
        "arguments.amount: ",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u","amount":9007199254740993}"#,
        "arguments.amount: ",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u","amount":9007199254740993.0}"#,
        "arguments.amount: ",
    ),
    (
        "send_certificate",
        r#"{"user_id":"u","amount":1e300}"#,
        "arguments.amount: expected an amount",
    ),
    (
        "send_certificate",
        r#"{"user_id":["u"],"amount":1}"#,
        "arguments.user_id: expected a string, found an array",
    ),
    (
        "update_reservation_baggages",
        r#"{"reservation_id":"A","total_baggages":"two"}"#,
        "arguments.total_baggages: expected an integer",
    ),
    (
        "update_reservation_baggages",
        r#"{"reservation_id":"A","total_baggages":1.5}"#,
        "arguments.total_baggages: expected an integer, found 1.5",
    ),
    (
        "update_reservation_flights",
        r#"{"reservation_id":"A","cabin":"c","flights":"HAT1"}"#,
        "arguments.flights: expected an array, found a string",
    ),
    (
        "update_reservation_flights",
        r#"{"reservation_id":"A","cabin":"c","flights":["HAT1"]}"#,
        "arguments.flights[0]: expected an object",
    ),
    (
        "update_reservation_flights",
        r#"{"reservation_id":"A","cabin":"c","flights":[{"flight_number":"H","date":"d"},{"flight_number":"H"}]}"#,
        "arguments.flights[1].date: the member is missing",
    ),
    (
        "update_reservation_flights",
        r#"{"reservation_id":"A","cabin":"c","flights":[{"flight_number":1,"date":"d"}]}"#,
        "arguments.flights[0].flight_number: expected a string, found 1",
    ),
    (
        "update_reservation_passengers",
        r#"{"reservation_id":"A","passengers":3}"#,
        "arguments.passengers: expected an array, found 3",
    ),
    (
        "transfer_to_human_agents",
        r#"{"summary":["x"]}"#,
        "arguments.summary: expected a string, found an array",
    ),
];

const GOOD_LINE: &str = r#"{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"{\"reservation_id\":\"A\"}","result":"ok"}"#;

#[test]
fn a_bad_line_is_named_and_nothing_is_served() {
    for (line, message) in BAD_LINES {
        refused_at_line_2(line, message);
    }
    for (tool, arguments, message) in BAD_ARGUMENTS {
        let arguments = serde_json::to_string(arguments).expect("text has a JSON form");
        let line = format!(r#"{{"task":1,"trial":0,"seq":1,"tool":"{tool}","arguments":{arguments},"result":"ok"}}"#);
        refused_at_line_2(&line, message);
    }
}

#[test]
fn a_line_that_is_not_utf_8_is_named() {
    let folder = Folder::new();
    let calls = folder.recording(b"\n\xff\xfe\n");
    let run = run(&["--json", "--calls", &calls]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains(&format!("{calls}:2: the line is not UTF-8")),
        "{}",
        run.stderr
    );
}

#[test]
fn arguments_nested_without_end_are_refused() {
    let deep = format!(
        r#"{{"reservation_id":"A","deep":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let arguments = serde_json::to_string(&deep).expect("text has a JSON form");
    let line =
        format!(r#"{{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":{arguments},"result":"ok"}}"#);
    refused_at_line_2(&line, "arguments.deep");
}

#[test]
fn an_identifier_that_the_ledger_cannot_index_is_refused() {
    let id = "x".repeat(1025);
    let line = format!(
        r#"{{"task":1,"trial":0,"seq":1,"tool":"cancel_reservation","arguments":"{{\"reservation_id\":\"{id}\"}}","result":"ok"}}"#
    );
    refused_at_line_2(
        &line,
        "arguments.reservation_id: expected at most 1024 bytes, found 1025",
    );
}

#[test]
fn all_bad_lines_are_reported_together_and_a_flood_of_them_is_cut() {
    let folder = Folder::new();
    let calls = folder.recording("{}\n".repeat(50));
    let run = run(&["--calls", &calls]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains(":1: ") && run.stderr.contains(":20: ") && !run.stderr.contains(":21: "));
    assert!(run.stderr.contains("and 30 more lines"), "{}", run.stderr);
}

#[test]
fn empty_lines_and_line_ends_of_windows_are_no_fault() {
    let folder = Folder::new();
    let calls = folder.recording(format!("\r\n{GOOD_LINE}\r\n\n"));
    assert_eq!(Database::sqlite().figures(&["--calls", &calls]).executed, 1);
}

#[test]
fn numbers_of_one_value_are_one_effect_however_they_are_spelled() {
    let folder = Folder::new();
    let line = |trial: usize, amount: &str| {
        format!(
            r#"{{"task":1,"trial":{trial},"seq":1,"tool":"send_certificate","arguments":"{{\"user_id\":\"u\",\"amount\":{amount}}}","result":"ok"}}"#
        )
    };
    let amounts = [
        "200",
        "200.0",
        "2e2",
        "20000E-2",
        "200.00000",
        "112.5",
        "1125e-1",
        "0.1",
        "1e-1",
        "0.10000000000000001",
    ];
    let lines: Vec<_> = amounts
        .iter()
        .enumerate()
        .map(|(trial, amount)| line(trial, amount))
        .collect();
    let calls = folder.recording(lines.join("\n"));
    for database in Database::both() {
        let figures = database.figures(&["--calls", &calls]);
        assert_eq!((figures.executed, figures.replayed, figures.refused), (3, 7, 0));
        assert_eq!(figures.effects_if_raw_arguments_were_hashed, 10);
        assert_eq!(figures.effects_if_canonical_arguments_were_hashed, 3);
    }
}

#[test]
fn text_that_a_database_cannot_hold_is_served_all_the_same() {
    let folder = Folder::new();
    let line = r#"{"task":1,"trial":0,"seq":1,"tool":"transfer_to_human_agents","arguments":"{\"summary\":\"a\\u0000b\\ud83d\\ude00'\\\"\"}","result":"ok"}"#;
    let calls = folder.recording(line);
    for database in Database::both() {
        assert_eq!(database.figures(&["--calls", &calls]).executed, 1, "{}", database.url);
    }
}

#[test]
fn a_recording_that_is_not_there_is_named() {
    let run = run(&["--calls", "/nowhere/calls.jsonl"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("/nowhere/calls.jsonl") && run.stderr.contains("--calls"),
        "{}",
        run.stderr
    );
}

#[test]
fn options_that_cannot_be_used_are_named() {
    let bad: &[(&[&str], &str)] = &[
        (&["--tenant", "my airline"], "--tenant"),
        (&["--tenant", ""], "--tenant"),
        (&["--tenant", "ada@example.com"], "--tenant"),
        (&["--model-version", "latest"], "--model-version"),
        (&["--prompt-sha256", "abc"], "--prompt-sha256"),
        (&["--chaos", "often"], "--chaos"),
        (&["--database", "mysql://localhost/x"], "--database"),
        (&["--database", "replay.sqlite"], "--database"),
        (&["--database", "sqlite::memory:"], "--database"),
        (&["--stop", "claimed:1"], "--child"),
        (&["--colour"], "--colour"),
    ];
    for (arguments, message) in bad {
        let run = run(arguments);
        assert_eq!(run.status, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(
            run.stdout.is_empty() && run.stderr.contains(message),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_database_that_is_down_is_named_without_its_password() {
    for arguments in [
        &["--json"][..],
        &["--json", "--workers", "2"],
        &["--json", "--chaos", "1"],
    ] {
        let url = "postgres://replay:secret@127.0.0.1:1/replay";
        let run = run(&[&["--database", url], arguments].concat());
        assert_eq!(run.status, Some(3), "{}", run.stderr);
        assert!(run.stdout.is_empty());
        assert!(
            run.stderr.contains("postgres://replay:…@127.0.0.1:1/replay"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
}

#[test]
fn a_schema_that_is_too_new_is_left_alone() {
    for database in Database::both() {
        database.figures(&[]);
        database.execute("UPDATE idem_schema SET min_reader = 1000000");
        let run = database.run(&["--json"]);
        assert_eq!(run.status, Some(3), "{}", run.stderr);
        assert!(run.stdout.is_empty() && run.stderr.contains("schema"), "{}", run.stderr);
    }
}

fn refused_at_line_2(line: &str, message: &str) {
    let folder = Folder::new();
    let calls = folder.recording(format!("{GOOD_LINE}\n{line}\n{GOOD_LINE}\n"));
    let file = folder.path().join("untouched.sqlite");
    let run = run(&[
        "--json",
        "--calls",
        &calls,
        "--database",
        &format!("sqlite://{}?mode=rwc", file.display()),
    ]);
    assert_eq!(run.status, Some(2), "{line}: {}", run.stderr);
    assert!(run.stdout.is_empty(), "{line}: {}", run.stdout);
    assert!(
        run.stderr.contains(&format!("{calls}:2: {message}")) || contains_all(&run.stderr, &calls, message),
        "{line}: {}",
        run.stderr
    );
    assert!(!file.exists(), "{line}: the database was touched");
}

/// A fault of syntax begins with the reader's own words.
fn contains_all(stderr: &str, calls: &str, message: &str) -> bool {
    stderr.contains(&format!("{calls}:2: ")) && stderr.contains(message)
}
