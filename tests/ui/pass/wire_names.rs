//! The key has the names that serde writes, in the order of their UTF-16 units.

use idem::{derive, idempotent};
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [last, first, case_id, plain, maybe], tenant = none)]
#[derive(Serialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
struct IssueRefund {
    #[serde(rename = "\u{e000}")]
    last: u8,
    #[serde(rename = "\u{10000}")]
    first: u8,
    case_id: &'static str,
    #[serde(rename(serialize = "plain", deserialize = "plain"))]
    plain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe: Option<u8>,
}

fn main() -> Result<(), idem::KeyError> {
    let refund = IssueRefund { last: 2, first: 1, case_id: "C-7", plain: true, maybe: None };
    assert_eq!(
        String::from_utf8_lossy(&derive(&refund, None)?.preimage),
        "{\"CASE-ID\":\"C-7\",\"action\":\"refund.issue\",\"plain\":true,\"\u{10000}\":1,\"\u{e000}\":2}"
    );
    // What is in the key is what serde writes.
    let wire = serde_json::to_value(&refund).unwrap();
    let key: serde_json::Value = serde_json::from_slice(&derive(&refund, None)?.preimage).unwrap();
    for (name, value) in wire.as_object().unwrap() {
        assert_eq!(key.get(name), Some(value));
    }
    Ok(())
}
