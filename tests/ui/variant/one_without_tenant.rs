use idem::idempotent;

#[idempotent]
enum Command {
    #[idempotent(action = "refund.issue", key = [tenant, case_id])]
    Issue { tenant: String, case_id: String },
    #[idempotent(action = "refund.cancel", key = [refund_id])]
    Cancel { refund_id: u64 },
}

#[idempotent(tenant = org)]
enum Other {
    #[idempotent(action = "refund.issue", key = [org, case_id])]
    Issue { org: String, case_id: String },
    #[idempotent(action = "refund.cancel", key = [refund_id])]
    Cancel { refund_id: u64 },
}

fn main() {}
