struct IssueRefund;

fn run<T: idem::IdempotentFields>(_: &T) {}

fn main() {
    run(&IssueRefund);
}
