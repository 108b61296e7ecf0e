use idem::idempotent;

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id])]
    Issue { case_id: String },
    Cancel { case_id: String },
    #[idempotent(action = "refund.reopen")]
    Reopen { case_id: String },
}

fn main() {}
