use idem::idempotent;

#[idempotent(action = "case.open", key = [case_id], tenant = none)]
struct OldOpen {
    case_id: String,
}

#[idempotent(key = [case_id, part], tenant = none, previous = OldOpen, until = "2027-03-01")]
struct Open {
    case_id: String,
    part: u8,
}

#[idempotent(tenant = none)]
enum Command {
    #[idempotent(action = "case.close", key = [case_id], previous = OldOpen, until = "2027-03-01")]
    Close { case_id: String },
}

fn main() {}
