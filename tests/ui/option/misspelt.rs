use idem::idempotent;

#[idempotent(acton = "refund.issue", keys = [case_id], retries = 3)]
struct IssueRefund {
    case_id: String,
}

fn main() {}
