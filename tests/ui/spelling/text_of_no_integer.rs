use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, price], tenant = none, subject = case_id)]
struct IssueRefund {
    #[key(text)]
    case_id: String,
    #[key(text)]
    price: Option<f64>,
}

fn main() {}
