//! Each variant is an effect of its own.

use idem::{Tenant, derive, idempotent};
use serde::{Deserialize, Serialize};

#[idempotent(tenant = org)]
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
enum Command {
    #[idempotent(action = "refund.issue", key = [org, case_id], subject = case_id, once_per = [case_id])]
    Issue {
        org: String,
        case_id: String,
        amount_cents: i64,
        #[transient]
        note: String,
    },
    #[idempotent(action = "refund.cancel", key = [refund_id])]
    Cancel { org: String, refund_id: u64 },
}

#[idempotent]
#[derive(Serialize)]
enum ByCall {
    #[idempotent(action = "a", key = [id])]
    A { id: u8 },
    #[idempotent(action = "b", key = [id])]
    B { id: u8 },
}

#[derive(Serialize)]
#[idempotent(action = "case.move", tenant = none)]
enum Common {
    #[idempotent(key = [case_id, queue])]
    ToQueue { case_id: String, queue: String },
    #[idempotent(key = [case_id, user])]
    ToUser { case_id: String, user: String },
}

fn main() -> Result<(), idem::KeyError> {
    let issue = |amount_cents| Command::Issue { org: "acme".into(), case_id: "C-7".into(), amount_cents, note: "x".into() };
    let (one, two) = (derive(&issue(1), None)?, derive(&issue(2), None)?);
    assert_eq!(String::from_utf8_lossy(&one.preimage), r#"{"action":"refund.issue","caseId":"C-7","org":"acme"}"#);
    assert_eq!(one.key, two.key);
    assert_ne!(one.fingerprint, two.fingerprint);
    assert_eq!(one.subject.as_deref(), Some("C-7"));
    assert!(one.place.is_some());

    let cancel = derive(&Command::Cancel { org: "acme".into(), refund_id: 7 }, None)?;
    assert_eq!(String::from_utf8_lossy(&cancel.preimage), r#"{"action":"refund.cancel","refundId":7}"#);
    assert_eq!(cancel.subject, None);
    assert!(cancel.place.is_none());

    let tenant = Tenant::parse("acme")?;
    let (a, b) = (derive(&ByCall::A { id: 1 }, Some(&tenant))?, derive(&ByCall::B { id: 1 }, Some(&tenant))?);
    assert_eq!(String::from_utf8_lossy(&a.preimage), r#"{"action":"a","id":1,"tenant":"acme"}"#);
    assert_ne!(a.key, b.key);
    assert!(derive(&ByCall::A { id: 1 }, None).is_err());

    let queue = derive(&Common::ToQueue { case_id: "C-7".into(), queue: "x".into() }, None)?;
    let user = derive(&Common::ToUser { case_id: "C-7".into(), user: "x".into() }, None)?;
    assert_ne!(queue.key, user.key);
    Ok(())
}
