use idem::idempotent;
use serde::{Deserialize, Serialize};

#[idempotent(action = "refund.issue", key = [skipped, unsent, unread, flat, with, sent_with, two, short, old])]
#[derive(Serialize, Deserialize)]
struct IssueRefund {
    #[serde(skip)]
    skipped: u32,
    #[serde(skip_serializing)]
    unsent: u32,
    #[serde(skip_deserializing)]
    unread: u32,
    #[serde(flatten)]
    flat: std::collections::BTreeMap<String, u32>,
    #[serde(with = "as_text")]
    with: u32,
    #[serde(serialize_with = "as_text::serialize")]
    sent_with: u32,
    #[serde(rename(serialize = "two", deserialize = "zwei"))]
    two: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    short: Vec<u32>,
    #[serde(alias = "older")]
    old: u32,
}

mod as_text {
    pub fn serialize<S: serde::Serializer>(value: &u32, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

fn main() {}
