use idem::idempotent;
use std::collections::{HashMap, HashSet};
use std::time::{Instant, SystemTime};

#[idempotent(action = "refund.issue", key = [case_id, amount, asked, seen, tags, names, content, huge])]
struct IssueRefund {
    case_id: String,
    amount: f64,
    asked: SystemTime,
    seen: Option<Instant>,
    tags: std::collections::HashSet<String>,
    names: Vec<HashMap<String, HashSet<String>>>,
    content: Vec<u8>,
    huge: u128,
}

fn main() {}
