use idem::KeyField;
use serde::{Deserialize, Serialize};

#[derive(KeyField, Serialize, Deserialize)]
struct Line {
    #[serde(rename = "sku", skip_serializing_if = "String::is_empty")]
    code: String,
    #[serde(flatten)]
    more: std::collections::BTreeMap<String, u32>,
}

#[derive(KeyField, Serialize)]
#[serde(transparent)]
struct CaseId {
    text: String,
}

#[derive(KeyField, Serialize)]
#[serde(tag = "kind", content = "value")]
enum Method {
    Card(String),
    #[serde(untagged)]
    Cash,
}

#[derive(KeyField, Serialize, Deserialize)]
#[serde(rename_all(deserialize = "snake_case"))]
enum Reason {
    Damaged,
    #[serde(rename = "Damaged")]
    Late,
}

fn main() {}
