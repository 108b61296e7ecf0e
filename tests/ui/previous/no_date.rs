use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
struct OldRefund {
    case_id: String,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = OldRefund)]
struct Refund {
    case_id: String,
    part: u8,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, until = "2027-03-01")]
struct Other {
    case_id: String,
    part: u8,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = OldRefund, until = "2027-02-29")]
struct NoDay {
    case_id: String,
    part: u8,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = "OldRefund", until = 2027)]
struct Quoted {
    case_id: String,
    part: u8,
}

fn main() {}
