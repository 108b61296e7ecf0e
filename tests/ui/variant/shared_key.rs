use idem::idempotent;

#[idempotent(action = "case.decide", tenant = none)]
enum Decide {
    #[idempotent(key = [case_id])]
    Approve { case_id: String },
    #[idempotent(key = [case_id])]
    Reject { case_id: String },
}

fn main() {}
