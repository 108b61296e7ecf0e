//! Tuple structs are arrays; a place that is left out moves those behind it, as with serde.

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

#[derive(KeyField, Serialize)]
struct Pair(u32, String);

#[derive(KeyField, Serialize)]
struct WithNote(
    u32,
    #[transient]
    #[serde(skip)]
    String,
    bool,
);

#[derive(KeyField, Serialize)]
struct OneOfTwo(
    u32,
    #[transient]
    #[serde(skip)]
    u32,
);

#[derive(KeyField, Serialize)]
struct Optional(Option<u32>, Option<u32>);

#[idempotent(action = "a", key = [pair, with_note, one_of_two, optional], tenant = none)]
#[derive(Serialize)]
struct Order {
    pair: Pair,
    with_note: WithNote,
    one_of_two: OneOfTwo,
    optional: Optional,
}

fn main() -> Result<(), idem::KeyError> {
    let order = |note: &str| Order {
        pair: Pair(1, "a".into()),
        with_note: WithNote(1, note.into(), true),
        one_of_two: OneOfTwo(1, 2),
        optional: Optional(None, Some(1)),
    };
    let key = derive(&order("x"), None)?;
    assert_eq!(
        String::from_utf8_lossy(&key.preimage),
        r#"{"action":"a","one_of_two":[1],"optional":[null,1],"pair":[1,"a"],"with_note":[1,true]}"#
    );
    let mut sent = serde_json::to_value(order("x")).unwrap();
    sent["action"] = "a".into();
    assert_eq!(sent, serde_json::from_slice::<serde_json::Value>(&key.preimage).unwrap());
    assert_eq!(key.key, derive(&order("y"), None)?.key);
    Ok(())
}
