use idem::idempotent;
use std::time::{Instant, SystemTime};

#[idempotent(action = "refund.issue", key = [case_id, asked, seen], tenant = none)]
struct IssueRefund {
    case_id: String,
    asked: SystemTime,
    seen: Option<Instant>,
}

fn main() {}
