use idem::idempotent;

#[idempotent(key = [case_id], tenant = none)]
struct IssueRefund {
    case_id: String,
}

fn run<T: idem::Idempotent>(_: &T) {}

fn main() {
    run(&IssueRefund { case_id: String::new() });
}
