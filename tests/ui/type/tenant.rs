use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant, case_id])]
struct IssueRefund {
    tenant: Option<String>,
    case_id: String,
}

#[idempotent(action = "case.close", key = [case_id], tenant = org)]
struct CloseCase {
    #[allow(dead_code)]
    org: u64,
    case_id: String,
}

fn main() {}
