use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant, caseid])]
struct IssueRefund {
    tenant: String,
    case_id: String,
}

fn run<T: idem::Idempotent + idem::TenantKnown<idem::FromType>>(_: &T) {}

fn main() {
    run(&IssueRefund { tenant: String::new(), case_id: String::new() });
}
