use idem::idempotent;

struct CaseId(String);

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund {
    case_id: CaseId,
}

fn main() {}
