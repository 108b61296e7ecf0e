use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id, created_at, at])]
#[derive(Serialize)]
struct IssueRefund {
    case_id: String,
    created_at: String,
    #[serde(rename = "sentAt")]
    at: String,
}

fn main() {}
