use idem::{KeyField, idempotent};

#[idempotent(action = "refund.issue", key = [serial], tenant = none)]
#[key(text)]
struct IssueRefund {
    #[key(crate = ::idem)]
    serial: u64,
}

#[derive(KeyField)]
enum Method {
    #[key(display)]
    Card(u64),
}

fn main() {}
