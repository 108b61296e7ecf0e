//! The example of the documentation: the key and what a retry may change.

use idem::{Tenant, derive, idempotent};
use serde::{Deserialize, Serialize};

#[idempotent(action = "refund.issue", key = [tenant, case_id, refund_no], subject = case_id, once_per = [case_id])]
#[derive(Clone, Serialize, Deserialize)]
struct IssueRefund {
    tenant: String,
    case_id: String,
    refund_no: u32,
    amount_cents: i64,
    #[transient]
    rationale: String,
    #[basis]
    decided_by: String,
}

fn main() -> Result<(), idem::KeyError> {
    let refund = IssueRefund {
        tenant: "acme".into(),
        case_id: "C-7".into(),
        refund_no: 1,
        amount_cents: 900,
        rationale: "late".into(),
        decided_by: "model-1".into(),
    };
    let first = derive(&refund, None)?;
    assert_eq!(
        String::from_utf8_lossy(&first.preimage),
        r#"{"action":"refund.issue","case_id":"C-7","refund_no":1,"tenant":"acme"}"#
    );
    assert_eq!(first.subject.as_deref(), Some("C-7"));
    assert_eq!(first.basis.as_deref(), Some(r#"{"decided_by":"model-1"}"#));
    assert!(first.place.is_some());

    let reworded = derive(&IssueRefund { rationale: "too late".into(), decided_by: "model-2".into(), ..refund.clone() }, None)?;
    assert_eq!(first.key, reworded.key);
    assert_eq!(first.fingerprint, reworded.fingerprint);

    let changed = derive(&IssueRefund { amount_cents: 901, ..refund.clone() }, None)?;
    assert_eq!(first.key, changed.key);
    assert_ne!(first.fingerprint, changed.fingerprint);

    let other = derive(&IssueRefund { refund_no: 2, ..refund.clone() }, None)?;
    assert_ne!(first.key, other.key);
    assert_eq!(first.place, other.place);

    // The tenant of the call must be that of the field.
    assert!(derive(&refund, Some(&Tenant::parse("other")?)).is_err());
    Ok(())
}
