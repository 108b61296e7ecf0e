use idem::idempotent;

#[idempotent(action = "refund.issue", key = [tenant, caseid, refund], subject = customer)]
struct IssueRefund {
    tenant: String,
    case_id: String,
    refund_no: u32,
}

fn main() {}
