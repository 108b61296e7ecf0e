use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], action = "refund.cancel", strict, strict)]
struct IssueRefund {
    case_id: String,
}

fn main() {}
