//! How variants are told apart on the wire is in no key: the action tells.

use idem::{derive, idempotent};
use serde::{Deserialize, Serialize};

macro_rules! commands {
    ($($name:ident: #[$tagging:meta];)*) => {
        $(
            #[idempotent(tenant = none)]
            #[derive(Serialize, Deserialize)]
            #[$tagging]
            enum $name {
                #[idempotent(action = "case.open", key = [case_id])]
                Open {
                    case_id: u32,
                },
                #[idempotent(action = "case.close", key = [case_id])]
                #[serde(alias = "shut", rename(serialize = "c", deserialize = "d"))]
                Close {
                    case_id: u32,
                    #[serde(alias = "remark")]
                    note: String,
                },
            }

            impl $name {
                fn key() -> Result<idem::IdempotencyKey, idem::KeyError> {
                    let open = derive(&Self::Open { case_id: 7 }, None)?.key;
                    let close = derive(&Self::Close { case_id: 7, note: String::new() }, None)?.key;
                    assert_ne!(open, close);
                    Ok(open)
                }
            }
        )*
    };
}

commands! {
    External: #[serde(deny_unknown_fields)];
    Internal: #[serde(tag = "kind")];
    Adjacent: #[serde(tag = "kind", content = "value")];
    Untagged: #[serde(untagged)];
}

#[idempotent(action = "case.open", key = [case_id], tenant = none)]
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind")]
struct Tagged {
    case_id: u32,
}

fn main() -> Result<(), idem::KeyError> {
    let key = External::key()?;
    for other in [Internal::key()?, Adjacent::key()?, Untagged::key()?, derive(&Tagged { case_id: 7 }, None)?.key] {
        assert_eq!(key, other);
    }
    Ok(())
}
