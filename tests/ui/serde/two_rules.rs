use idem::{KeyField, idempotent};
use serde::Serialize;

#[idempotent(tenant = none)]
#[derive(Serialize)]
#[serde(rename_all_fields(serialize = "camelCase", deserialize = "kebab-case"))]
enum Command {
    #[idempotent(action = "case.move", key = [case_id, to_queue])]
    Move { case_id: String, to_queue: String },
}

#[idempotent(tenant = none)]
#[derive(Serialize)]
enum Other {
    #[idempotent(action = "case.close", key = [case_id])]
    #[serde(rename_all(deserialize = "camelCase"))]
    Close { case_id: String },
}

#[derive(KeyField, Serialize)]
#[serde(rename_all(serialize = "camelCase"))]
struct Line {
    stock_unit: String,
}

fn main() {}
