use idem::idempotent;
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id])]
#[derive(Serialize)]
#[serde(transparent)]
struct IssueRefund {
    case_id: String,
}

#[idempotent(action = "case.close", key = [case_id])]
#[derive(Clone, Serialize)]
#[serde(into = "String")]
struct CloseCase {
    case_id: String,
}

impl From<CloseCase> for String {
    fn from(case: CloseCase) -> Self {
        case.case_id
    }
}

struct Foreign {
    case_id: String,
}

#[idempotent(action = "case.open", key = [case_id])]
#[derive(Serialize)]
#[serde(remote = "Foreign")]
struct OpenCase {
    case_id: String,
}

#[idempotent(action = "case.move", key = [case_id, to_queue])]
#[derive(Serialize)]
#[serde(rename_all(serialize = "camelCase"))]
struct MoveCase {
    case_id: String,
    to_queue: String,
}

fn main() {}
