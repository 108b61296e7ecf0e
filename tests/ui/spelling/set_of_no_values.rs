use idem::idempotent;
use std::collections::HashMap;

#[idempotent(action = "refund.issue", key = [case_id, names, content, rates], tenant = none)]
struct IssueRefund {
    #[key(set)]
    case_id: String,
    #[key(set)]
    names: HashMap<String, String>,
    #[key(set)]
    content: Vec<u8>,
    #[key(set)]
    rates: Vec<f64>,
}

fn main() {}
