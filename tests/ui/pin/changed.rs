use idem::{KeyField, idempotent};

#[idempotent(action = "refund.issue", key = [case_id, refund_no], tenant = none, pin = "7f3a91c2")]
struct IssueRefund {
    case_id: String,
    refund_no: u32,
}

// Other types are part of the definition.
#[idempotent(
    action = "order.place",
    key = [line],
    tenant = none,
    pin = "00000000",
)]
struct PlaceOrder<'a> {
    line: Line<'a>,
}

#[derive(KeyField)]
struct Line<'a> {
    sku: &'a str,
}

#[idempotent(tenant = none, pin = "00000000")]
enum Command {
    #[idempotent(action = "case.open", key = [case_id])]
    Open { case_id: String },
    #[idempotent(action = "case.close", key = [case_id])]
    Close { case_id: String },
}

fn main() {}
