use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id])]
struct IssueRefund {
    case_id: String,
}

fn run<T: idem::TenantKnown<idem::FromType>>(_: &T) {}

fn main() {
    run(&IssueRefund { case_id: String::new() });
}
