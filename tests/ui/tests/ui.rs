//! Runs the cases in `tests/ui`, one folder for each kind of mistake.
//!
//! After a change that is meant, rewrite the messages and read the difference:
//!
//! ```text
//! TRYBUILD=overwrite cargo test -p idem-ui-tests
//! ```

use std::fs;
use std::path::Path;

#[test]
fn messages_are_those_on_record() {
    let cases = trybuild::TestCases::new();
    for folder in [
        "action_and_tenant",
        "class",
        "key",
        "key_field",
        "name",
        "option",
        "payload",
        "pin",
        "previous",
        "serde",
        "shape",
        "spelling",
        "type",
        "variant",
    ] {
        cases.compile_fail(format!("{folder}/*.rs"));
    }
    cases.pass("pass/*.rs");
}

/// The reference of the attribute quotes each message as the compiler writes it.
#[test]
fn every_message_in_the_reference_is_on_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded: String = fs::read_dir(root)
        .unwrap()
        .map(|folder| folder.unwrap().path())
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|it| it == "stderr"))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let reference = fs::read_to_string(root.join("../../docs/attribute.md")).unwrap();
    let quoted: Vec<_> = reference
        .lines()
        .filter_map(|line| line.strip_suffix(" `` |")?.split_once("| `` "))
        .map(|(_, message)| message)
        .collect();
    assert!(quoted.len() > 60, "{}", quoted.len());
    for message in quoted {
        let is_recorded = recorded
            .lines()
            .any(|line| line.starts_with("error") && line.ends_with(&format!(": {message}")));
        assert!(is_recorded, "no case has the message: {message}");
    }
}
