use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [caseId])]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IssueRefund {
    case_id: String,
}

fn main() {}
