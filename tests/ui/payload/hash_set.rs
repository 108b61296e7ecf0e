use idem::idempotent;
use std::collections::{HashMap, HashSet};

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund {
    case_id: String,
    tags: HashSet<String>,
    nested: Option<Vec<HashMap<String, std::collections::HashSet<u8>>>>,
}

fn main() {}
