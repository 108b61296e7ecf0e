//! Runs the cases in `tests/ui`, one folder for each kind of mistake.
//!
//! After a change that is meant, rewrite the messages and read the difference:
//!
//! ```text
//! TRYBUILD=overwrite cargo test -p idem-ui-tests
//! ```

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
