use idem::{KeyField, idempotent};
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [kind, case_id], tenant = none)]
#[derive(Serialize)]
#[serde(tag = "kind")]
struct IssueRefund {
    kind: String,
    case_id: String,
}

#[derive(KeyField, Serialize)]
#[serde(tag = "type")]
struct Line {
    sku: String,
}

#[derive(KeyField, Serialize, serde::Deserialize)]
enum Method {
    Card,
    #[serde(other)]
    Unknown,
}

fn main() {}
