use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
struct OldRefund {
    case_id: String,
}

struct Unmarked;

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = OldRefund, until = "2027-03-01")]
struct Refund {
    case_id: String,
    part: u8,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = Unmarked, until = "2027-03-01")]
struct Other {
    case_id: String,
    part: u8,
}

impl From<&Other> for Unmarked {
    fn from(_: &Other) -> Self {
        Unmarked
    }
}

fn main() {}
