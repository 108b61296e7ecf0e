use idem::idempotent;

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id])]
    Issue(String),
    #[idempotent(action = "refund.cancel", key = [])]
    Cancel,
}

#[idempotent(tenant = none)]
enum Nothing {}

fn main() {}
