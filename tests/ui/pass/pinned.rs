//! A pin that holds, on structs and enums, and however the source is arranged.

use idem::{IdempotentFields, KeyField, idempotent};

#[idempotent(action = "refund.issue", key = [case_id, refund_no], tenant = none, pin = "454fd84d")]
struct IssueRefund {
    case_id: String,
    refund_no: u32,
}

mod moved {
    type Number = u64;

    // Another order, aliases, other types of the same form, and more payload: the same key.
    #[idem::idempotent(
        pin = "454fd84d",
        tenant = none,
        key = [refund_no, case],
        action = "refund.issue",
        subject = case,
    )]
    #[derive(serde::Serialize)]
    pub struct IssueRefund<'a> {
        amount: i64,
        refund_no: Number,
        #[serde(rename = "case_id")]
        case: &'a str,
    }
}

#[derive(KeyField)]
struct Line {
    #[key]
    sku: String,
    #[key(text)]
    serial: u128,
}

#[idempotent(tenant = none, pin = "9323574d")]
enum Command {
    #[idempotent(action = "order.place", key = [lines])]
    Place { lines: Vec<Line> },
    #[idempotent(action = "order.cancel", key = [order])]
    Cancel { order: u32 },
}

fn main() {
    assert_eq!(IssueRefund::KEY_SCHEMA.to_string(), "454fd84d");
    assert_eq!(IssueRefund::KEY_SCHEMA, moved::IssueRefund::<'_>::KEY_SCHEMA);
    assert_eq!(Command::KEY_SCHEMA.to_string(), "9323574d");
}
