use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id, ticket])]
#[derive(Serialize)]
struct IssueRefund {
    case_id: String,
    #[serde(rename = "case_id")]
    ticket: String,
}

fn main() {}
