use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id, kind])]
#[derive(Serialize)]
struct IssueRefund {
    case_id: String,
    #[serde(rename = "action")]
    kind: String,
}

fn main() {}
