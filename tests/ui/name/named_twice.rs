use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, case_id], payload = [cents, cents])]
struct IssueRefund {
    case_id: String,
    cents: i64,
}

fn main() {}
