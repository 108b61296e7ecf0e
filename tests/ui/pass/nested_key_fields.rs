//! Values inside a key are written as serde writes them.

use idem::{KeyField, derive, idempotent};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(KeyField, Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "sku")]
    code: Sku,
    unit_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<Colour>,
    #[transient]
    #[serde(skip)]
    label: String,
}

#[derive(KeyField, Serialize, Clone)]
#[serde(transparent)]
struct Sku(String);

#[derive(KeyField, Serialize, Clone)]
struct Size(u32, Option<u32>);

#[derive(KeyField, Serialize, Clone)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Colour {
    DarkRed,
    #[serde(rename = "x")]
    Other,
    Mixed(Vec<Colour>),
    Ral { ral_number: u16 },
    Cmyk(u8, u8, u8, u8),
    Maybe(Option<u8>),
    Empty(),
    Bare {},
}

#[derive(KeyField, Serialize, Clone)]
struct Picked {
    #[key]
    at: String,
    #[key]
    created_at: String,
    #[transient]
    #[serde(skip)]
    note: String,
}

#[idempotent(action = "order.place", key = [lines, size, named, picked], tenant = none)]
#[derive(Serialize)]
struct PlaceOrder {
    lines: Vec<Line>,
    size: Size,
    named: BTreeMap<String, Colour>,
    picked: Option<Picked>,
}

fn main() -> Result<(), idem::KeyError> {
    use Colour::*;
    let line = Line { code: Sku("a".into()), unit_count: 2, colour: None, label: "shown".into() };
    let colours = [DarkRed, Other, Mixed(vec![Other, DarkRed]), Ral { ral_number: 3005 }, Cmyk(1, 2, 3, 4), Maybe(None), Maybe(Some(1)), Empty(), Bare {}];
    let mut lines = vec![line.clone()];
    lines.extend(colours.iter().map(|colour| Line { colour: Some(colour.clone()), ..line.clone() }));
    let order = PlaceOrder {
        lines,
        size: Size(1, None),
        named: colours.iter().enumerate().map(|(index, colour)| (format!("{index}"), colour.clone())).collect(),
        picked: Some(Picked { at: "here".into(), created_at: "then".into(), note: String::new() }),
    };
    let mut key: serde_json::Value = serde_json::from_slice(&derive(&order, None)?.preimage).unwrap();
    assert_eq!(key.as_object_mut().unwrap().remove("action"), Some("order.place".into()));
    assert_eq!(key, serde_json::to_value(&order).unwrap());

    let before = derive(&order, None)?.key;
    let relabelled = PlaceOrder {
        lines: order.lines.iter().map(|line| Line { label: "other".into(), ..line.clone() }).collect(),
        ..order
    };
    assert_eq!(before, derive(&relabelled, None)?.key);
    Ok(())
}
