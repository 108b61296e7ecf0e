#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = old::Refund, until = "2027-03-01")]
struct Refund {
    case_id: String,
    part: u8,
    amount_cents: i64,
}
