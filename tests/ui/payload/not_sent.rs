use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id])]
#[derive(Serialize)]
struct IssueRefund {
    case_id: String,
    #[serde(skip)]
    cache: u32,
}

fn main() {}
