#[idempotent(
    action = "refund.issue",
    key = [refund_no, r#type, case_id],
    payload = [amount_cents, org],
    tenant = org,
    subject = case_id,
    once_per = [case_id],
    strict,
    crate = ::idem_core,
)]
#[serde(rename_all = "camelCase")]
struct IssueRefund<'a, T: Clone, const N: usize>
where
    T: Send,
{
    #[transient]
    attempt: u32,
    case_id: &'a str,
    refund_no: Option<T>,
    r#type: Kind,
    org: Cow<'a, str>,
    amount_cents: [T; N],
    #[basis]
    decided_by: Basis,
}
