use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], subject = ratio)]
struct IssueRefund {
    case_id: u32,
    #[transient]
    ratio: f64,
}

fn main() {}
