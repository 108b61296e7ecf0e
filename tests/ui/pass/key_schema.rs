//! What changes the definition of a key, and what does not.

use idem::{IdempotentFields, KeyField, KeySchema, idempotent};

macro_rules! schema {
    (#[$attribute:meta] { $($fields:tt)* } $($more:item)*) => {{
        #[$attribute]
        #[derive(serde::Serialize)]
        #[allow(dead_code)]
        struct Order { $($fields)* }
        $($more)*
        const SCHEMA: KeySchema = Order::KEY_SCHEMA;
        SCHEMA
    }};
}

type Alias = String;

fn main() {
    let plain = schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 });
    let same = [
        schema!(#[idempotent(action = "a", key = [line, id], tenant = none)] { line: Line, id: String } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: Alias, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: &'static str, line: Box<Item> } #[derive(KeyField, serde::Serialize)] struct Item { sku: u64 }),
        schema!(#[idempotent(action = "a", key = [name, line], tenant = none)] { #[serde(rename = "id")] name: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { #[serde(rename = "sku")] code: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none, subject = id)] { id: String, line: Line, cents: i64 } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32, #[transient] note: String }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: Sku } #[derive(KeyField, serde::Serialize)] struct Sku(u16);),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { #[key(display)] id: std::net::Ipv4Addr, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
    ];
    assert_eq!(same, [plain; 7]);
    let others = [
        schema!(#[idempotent(action = "b", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line])] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = id)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id], tenant = none)] { id: String, line: u32 }),
        schema!(#[idempotent(action = "a", key = [name, line], tenant = none)] { name: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: u32, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Vec<Line> } #[derive(KeyField, serde::Serialize)] struct Line { sku: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { code: u32 }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: String }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { sku: Vec<u32> }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] struct Line { #[key(set)] sku: Vec<u32> }),
        schema!(#[idempotent(action = "a", key = [id, line], tenant = none)] { id: String, line: Line } #[derive(KeyField, serde::Serialize)] enum Line { Sku { sku: u32 } }),
    ];
    for (index, other) in others.iter().enumerate() {
        assert!(*other != plain, "{index}");
        assert!(!others[..index].contains(other), "{index}");
    }
}
