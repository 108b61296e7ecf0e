use idem::idempotent;

type Amount = f64;

#[idempotent(action = "refund.issue", key = [case_id, amount], tenant = none)]
struct IssueRefund {
    case_id: String,
    amount: Amount,
}

fn main() {}
