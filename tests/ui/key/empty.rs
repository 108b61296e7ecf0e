use idem::idempotent;

#[idempotent(action = "refund.issue", key = [])]
struct IssueRefund {
    case_id: String,
}

fn main() {}
