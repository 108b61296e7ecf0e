use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, amount, rates], tenant = none)]
struct IssueRefund {
    case_id: String,
    amount: f64,
    rates: Option<Vec<(u32, f32)>>,
}

fn main() {}
