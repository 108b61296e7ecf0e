use idem::idempotent;

#[idempotent(tenant = none, key = [case_id])]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id], strict)]
    Issue { case_id: String },
}

fn main() {}
