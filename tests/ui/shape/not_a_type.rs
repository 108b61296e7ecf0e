use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id])]
fn issue_refund(case_id: &str) -> usize {
    case_id.len()
}

#[idempotent(action = "refund.issue", key = [case_id])]
trait IssueRefund {}

fn main() {
    issue_refund("");
}
