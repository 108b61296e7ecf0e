use idem::idempotent;
use std::collections::HashMap;

#[idempotent(action = "refund.issue", key = [case_id, tags, names], tenant = none)]
struct IssueRefund {
    case_id: String,
    tags: std::collections::HashSet<String>,
    names: Vec<HashMap<String, String>>,
}

fn main() {}
