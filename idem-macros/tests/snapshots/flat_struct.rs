#[idempotent(action = "refund.issue", key = [tenant, case_id, refund_no], subject = case_id)]
#[derive(Serialize, Deserialize)]
struct IssueRefund {
    tenant: String,
    case_id: String,
    refund_no: u32,
    amount_cents: i64,
    #[transient]
    rationale: String,
}
