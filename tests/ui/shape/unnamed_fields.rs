use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund(String);

#[idempotent(action = "case.close", key = [case_id])]
struct CloseCase;

#[idempotent(action = "case.open", key = [case_id])]
union OpenCase {
    case_id: u64,
}

fn main() {}
