use idem::{KeyField, idempotent};

#[idempotent(action = "refund.issue", key = [serial, other], tenant = none)]
struct IssueRefund {
    #[key(text, display)]
    serial: u64,
    #[key(text)]
    #[key(display)]
    other: u64,
}

#[derive(KeyField)]
struct Line {
    #[key(text)]
    #[transient]
    sku: u64,
    #[key]
    lot: u64,
}

fn main() {}
