use idem::idempotent;

#[idempotent(
    action = Refund,
    key = case_id,
    payload = ["cents"],
    tenant = "acme",
    subject,
    once_per(case_id),
    strict = true,
)]
struct IssueRefund {
    case_id: String,
    cents: i64,
}

#[idempotent(action = " ", key = [case.id, 7])]
struct CloseCase {
    case_id: String,
}

fn main() {}
