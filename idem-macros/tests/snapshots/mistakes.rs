#[idempotent(action = "refund.issue", key = [case])]
struct IssueRefund<'a, T: Clone> {
    case_id: &'a T,
}
