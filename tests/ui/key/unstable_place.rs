use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], once_per = [case_id, note])]
struct IssueRefund {
    case_id: String,
    #[transient]
    note: String,
}

#[idempotent(action = "case.close", key = [case_id], once_per = [])]
struct CloseCase {
    case_id: String,
}

fn main() {}
