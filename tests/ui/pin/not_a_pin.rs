use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], pin = "")]
struct IssueRefund {
    case_id: String,
}

#[idempotent(action = "case.close", key = [case_id], pin = "7F3A91C2")]
struct CloseCase {
    case_id: String,
}

#[idempotent(action = "case.open", key = [case_id], pin = 12345678)]
struct OpenCase {
    case_id: String,
}

fn main() {}
