use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, region])]
struct IssueRefund {
    case_id: String,
    #[cfg(any())]
    region: String,
}

fn main() {}
