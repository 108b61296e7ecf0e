use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], tenant = org)]
struct IssueRefund {
    #[transient]
    org: String,
    case_id: String,
}

fn main() {}
