use idem::{KeyField, idempotent};

#[idempotent(action = "refund.issue", key = [case_id, serial, tags, list], tenant = none)]
struct IssueRefund {
    #[key()]
    case_id: u64,
    #[key(txt)]
    serial: u64,
    #[key(sorted)]
    tags: u64,
    #[key(text = true)]
    list: u64,
}

#[derive(KeyField)]
struct Line {
    #[key("text")]
    sku: u64,
}

fn main() {}
