use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id])]
#[idempotent(tenant = none)]
struct IssueRefund {
    case_id: String,
}

fn main() {}
