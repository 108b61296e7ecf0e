use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund {
    case_id: String,
    #[key]
    refund_no: u32,
}

fn main() {}
