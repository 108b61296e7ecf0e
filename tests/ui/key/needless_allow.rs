use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], allow = [case_id, sent_at])]
struct IssueRefund {
    case_id: String,
    sent_at: String,
}

fn main() {}
