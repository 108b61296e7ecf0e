use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant])]
struct IssueRefund {
    tenant: String,
    case_id: String,
}

fn main() {}
