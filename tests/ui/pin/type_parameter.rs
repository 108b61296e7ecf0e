use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], pin = "00000000")]
struct IssueRefund<'a, T> {
    case_id: T,
    note: &'a str,
}

fn main() {}
