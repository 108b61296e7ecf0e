use idem::idempotent;

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id])]
    Issue { case_id: String },
    #[idempotent(key = [refund_id])]
    Cancel { refund_id: u64 },
}

fn main() {}
