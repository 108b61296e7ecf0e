use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant, case_id])]
struct IssueRefund {
    #[key(display)]
    tenant: String,
    case_id: String,
    #[key(text)]
    amount: u128,
    #[key(set)]
    #[transient]
    tags: std::collections::HashSet<String>,
}

fn main() {}
