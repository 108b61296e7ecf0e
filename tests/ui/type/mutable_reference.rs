use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, count], tenant = none)]
struct IssueRefund<'a> {
    case_id: &'a str,
    count: &'a mut u32,
}

fn main() {}
