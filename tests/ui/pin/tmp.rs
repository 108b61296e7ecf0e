use idem::idempotent;
#[idempotent(action = "refund.issue", key = [case_id], tenant = none, pin = "00000000")]
struct IssueRefund {
    case_id: String,
}
fn main() {}
