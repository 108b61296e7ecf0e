use idem::idempotent;

struct Money(i64);

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund {
    case_id: String,
    amount: Money,
}

fn main() {}
