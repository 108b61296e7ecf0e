use idem::idempotent;

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id])]
    #[idempotent(subject = case_id)]
    Issue { case_id: String },
}

fn main() {}
