use idem::idempotent;

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "case.open", key = [case_id], pin = "00000000")]
    Open { case_id: String },
}

fn main() {}
