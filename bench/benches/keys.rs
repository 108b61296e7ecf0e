//! What key and fingerprint cost, against writing the same input with serde_json and hashing it, and against the
//! reference canonicaliser.

mod inputs;

use std::hint::black_box;

use idem::Idempotent;
use idem_bench::{Bar, judge, medians};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::inputs::{flat, flat_with_transient, nested, nested_decision};

fn main() {
    let holds = [
        compare("flat, all fields key or payload", &flat(), Some(0.8), Some(6.0)),
        compare("flat, one field transient", &flat_with_transient(), None, None),
        compare("nested params, ~430 B", &nested(430), None, None),
        compare("nested params, 10 KB", &nested(10_000), Some(1.5), None),
        compare("nested params in the key, 10 KB", &nested_decision(10_000), None, None),
    ];
    println!(
        "{}",
        if holds.iter().all(|holds| *holds) {
            "all bars hold"
        } else {
            "a bar was missed"
        }
    );
}

fn compare<I: Idempotent + Serialize>(
    what: &str,
    input: &I,
    floor_bar: Option<f64>,
    reference_bar: Option<f64>,
) -> bool {
    let json = serde_json::to_vec(input).expect("inputs are JSON");
    let hash = |bytes: &[u8]| {
        black_box(Sha256::digest(bytes));
    };
    let [derive, floor, reference, hash] = medians([
        &mut || drop(black_box(idem::derive(black_box(input), None))),
        &mut || hash(&serde_json::to_vec(black_box(input)).expect("inputs are JSON")),
        &mut || hash(&serde_json_canonicalizer::to_vec(black_box(input)).expect("inputs are JSON")),
        &mut || hash(black_box(&json)),
    ]);
    println!("{what}, {} B of JSON", json.len());
    println!(
        "  derive {derive:.0} ns; serde_json + SHA-256 {floor:.0} ns, of which SHA-256 {hash:.0} ns; \
         serde_json_canonicalizer + SHA-256 {reference:.0} ns"
    );
    let of_floor = judge("of serde_json + SHA-256", derive / floor, floor_bar.map(Bar::AtMost));
    let faster = judge(
        "faster than serde_json_canonicalizer + SHA-256",
        reference / derive,
        reference_bar.map(Bar::AtLeast),
    );
    of_floor && faster
}
