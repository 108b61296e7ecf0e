use idem::{KeyField, idempotent};

struct ForeignId(u64);

#[idempotent(action = "refund.issue", key = [case_id, others], tenant = none)]
struct IssueRefund {
    #[key(display)]
    case_id: ForeignId,
    #[key(display)]
    others: Vec<String>,
}

#[derive(KeyField)]
struct Line(#[key(display)] ForeignId);

fn main() {}
