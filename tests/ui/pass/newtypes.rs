//! A newtype is its inner value, at any depth and with or without `transparent`.

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

#[derive(KeyField, Serialize)]
struct Plain(String);

#[derive(KeyField, Serialize)]
#[serde(transparent)]
struct Transparent(Plain);

#[derive(KeyField, Serialize)]
struct Deep(Box<Transparent>);

#[derive(KeyField, Serialize)]
struct Optional(Option<u32>);

#[derive(KeyField, Serialize)]
struct Generic<T>(T);

#[derive(KeyField, Serialize)]
struct Listed(Vec<Plain>);

#[idempotent(action = "a", key = [plain, deep, none, some, generic, listed], tenant = none)]
#[derive(Serialize)]
struct Order {
    plain: Plain,
    deep: Deep,
    #[serde(skip_serializing_if = "is_none")]
    #[transient]
    unseen: Optional,
    none: Optional,
    some: Optional,
    generic: Generic<Generic<bool>>,
    listed: Listed,
}

fn is_none(value: &Optional) -> bool {
    value.0.is_none()
}

fn main() -> Result<(), idem::KeyError> {
    let text = |text: &str| Plain(text.to_owned());
    let order = Order {
        plain: text("p"),
        deep: Deep(Box::new(Transparent(text("d")))),
        unseen: Optional(None),
        none: Optional(None),
        some: Optional(Some(1)),
        generic: Generic(Generic(true)),
        listed: Listed(vec![text("l")]),
    };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"action":"a","deep":"d","generic":true,"listed":["l"],"plain":"p","some":1}"#
    );
    Ok(())
}
