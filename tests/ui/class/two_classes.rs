use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, cents, note], payload = [cents])]
struct IssueRefund {
    case_id: String,
    cents: i64,
    #[transient]
    note: String,
    #[transient]
    #[basis]
    model: String,
}

fn main() {}
