//! Keys and fingerprints: vectors shared with other languages, cases from the field, and laws.

mod attribute;
mod cases;
mod inputs;
mod laws;
mod macro_cases;
mod rejects;
mod serializer;
mod typed;
mod vectors;

use serde_json::Value;

/// Reads a vectors file of `idem-core`.
fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// Returns a member that is a string.
fn text<'v>(row: &'v Value, name: &str) -> &'v str {
    row[name]
        .as_str()
        .unwrap_or_else(|| panic!("`{name}` is a string in {row}"))
}
