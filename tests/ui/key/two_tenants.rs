use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant, case_id], tenant = org)]
struct IssueRefund {
    org: String,
    tenant: String,
    case_id: String,
}

#[idempotent(action = "case.close", key = [tenant, case_id], tenant = none)]
struct CloseCase {
    tenant: String,
    case_id: String,
}

fn main() {}
