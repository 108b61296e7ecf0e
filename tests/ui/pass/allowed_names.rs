//! A field whose name sounds like an attempt, and which is part of the identity all the same.

use idem::{derive, idempotent};

#[idempotent(action = "reading.store", key = [sensor, timestamp], tenant = none, allow = [timestamp], strict)]
struct StoreReading {
    sensor: String,
    timestamp: u64,
    #[transient]
    attempt: u32,
}

fn main() -> Result<(), idem::KeyError> {
    let reading = |timestamp, attempt| StoreReading { sensor: "s".into(), timestamp, attempt };
    assert_eq!(derive(&reading(1, 1), None)?.key, derive(&reading(1, 2), None)?.key);
    assert_ne!(derive(&reading(1, 1), None)?.key, derive(&reading(2, 1), None)?.key);
    Ok(())
}
