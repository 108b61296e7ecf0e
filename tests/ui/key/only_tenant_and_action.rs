use idem::idempotent;

#[idempotent(key = [org, action], tenant = org)]
struct IssueRefund {
    org: String,
    action: String,
    case_id: String,
}

fn main() {}
