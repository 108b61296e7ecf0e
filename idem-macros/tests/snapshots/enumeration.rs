#[idempotent(tenant = org)]
#[serde(rename_all_fields = "camelCase")]
enum Command {
    #[idempotent(action = "refund.issue", key = [org, case_id], subject = case_id)]
    Issue {
        org: String,
        case_id: String,
        amount_cents: i64,
    },
    #[idempotent(action = "refund.cancel", key = [org, refund_id], once_per = [refund_id])]
    Cancel {
        org: String,
        refund_id: u64,
        #[transient]
        reason: String,
    },
}
