use idem::idempotent;

#[idempotent(action = "refund.issue")]
struct IssueRefund {
    case_id: String,
}

#[idempotent]
struct CloseCase {
    case_id: String,
}

fn main() {}
