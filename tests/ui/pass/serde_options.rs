//! Options of serde that part no key from the wire.

use idem::{KeyField, derive, idempotent};
use serde::{Deserialize, Serialize};

#[idempotent(action = "a", key = [tenant, case_id, count, name], tenant = tenant)]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "SCREAMING-KEBAB-CASE", expecting = "an order")]
struct Order<'a> {
    tenant: String,
    #[serde(deserialize_with = "number")]
    case_id: u32,
    #[serde(default, skip_serializing_if = "core::option::Option::is_none")]
    count: Option<u32>,
    #[serde(borrow, rename = "n-a-m-e")]
    name: &'a str,
    #[serde(alias = "remark", skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(with = "text")]
    cents: i64,
    #[serde(flatten)]
    more: std::collections::BTreeMap<String, u32>,
    #[serde(skip)]
    #[transient]
    cache: u32,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self {
            tenant: "acme".into(),
            case_id: 7,
            count: None,
            name: "",
            note: String::new(),
            cents: 0,
            more: Default::default(),
            cache: 0,
        }
    }
}

#[idempotent(action = "b", key = [code], tenant = none)]
#[derive(Serialize, Deserialize)]
#[serde(try_from = "Sent")]
struct Checked {
    code: Code,
}

#[derive(Deserialize)]
struct Sent {
    code: String,
}

impl TryFrom<Sent> for Checked {
    type Error = std::convert::Infallible;

    fn try_from(sent: Sent) -> Result<Self, Self::Error> {
        Ok(Self { code: Code(sent.code) })
    }
}

#[derive(KeyField, Serialize, Deserialize)]
#[serde(from = "String")]
struct Code(String);

impl From<String> for Code {
    fn from(code: String) -> Self {
        Self(code)
    }
}

fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    u32::deserialize(from)
}

mod text {
    pub fn serialize<S: serde::Serializer>(value: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

fn main() -> Result<(), idem::KeyError> {
    let order = Order { name: "x", ..Order::default() };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"CASE-ID":7,"TENANT":"acme","action":"a","n-a-m-e":"x"}"#
    );
    derive(&Checked { code: Code("c".into()) }, None)?;
    Ok(())
}
