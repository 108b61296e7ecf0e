//! The field is key, subject and place, and the mistake is told once.

use idem::idempotent;

struct CaseId(String);

#[idempotent(
    action = "refund.issue",
    key = [case_id, price],
    tenant = none,
    subject = case_id,
    once_per = [case_id, price],
)]
struct IssueRefund {
    case_id: CaseId,
    price: f64,
}

fn main() {}
