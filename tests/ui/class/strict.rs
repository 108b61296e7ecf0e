use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], strict)]
struct IssueRefund {
    case_id: String,
    cents: i64,
}

fn main() {}
