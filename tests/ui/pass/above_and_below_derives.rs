//! Where the attribute stands among derives makes no difference.

use idem::{derive, idempotent};
use serde::{Deserialize, Serialize};

mod above {
    use super::*;

    #[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct IssueRefund {
        pub case_id: String,
        #[serde(rename = "cents")]
        pub amount: i64,
        #[transient]
        pub note: String,
    }
}

mod below {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
    pub struct IssueRefund {
        pub case_id: String,
        #[serde(rename = "cents")]
        pub amount: i64,
        #[transient]
        pub note: String,
    }
}

mod between {
    use super::*;

    #[derive(Debug)]
    #[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct IssueRefund {
        pub case_id: String,
        #[transient]
        pub note: String,
        #[serde(rename = "cents")]
        pub amount: i64,
    }
}

fn main() -> Result<(), idem::KeyError> {
    let (case_id, amount, note) = (|| "C-7".to_owned(), 900, || "late".to_owned());
    let above = derive(&above::IssueRefund { case_id: case_id(), amount, note: note() }, None)?;
    let below = derive(&below::IssueRefund { case_id: case_id(), amount, note: note() }, None)?;
    let between = derive(&between::IssueRefund { case_id: case_id(), amount, note: note() }, None)?;
    assert_eq!(String::from_utf8_lossy(&above.preimage), r#"{"action":"refund.issue","caseId":"C-7"}"#);
    assert_eq!(above.key, below.key);
    assert_eq!(above.key, between.key);
    assert_eq!(above.fingerprint, below.fingerprint);
    assert_eq!(above.fingerprint, between.fingerprint);
    Ok(())
}
