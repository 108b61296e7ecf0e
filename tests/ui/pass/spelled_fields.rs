//! Fields that say how they are written in the key.

use idem::{derive, idempotent};
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// An id type of another crate, without `KeyField`.
#[derive(Clone, Serialize)]
struct ForeignId(u32);

impl fmt::Display for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F-{:04}", self.0)
    }
}

#[idempotent(
    action = "token.mint",
    key = [serial, small, none, tags, sizes, owner, holder],
    tenant = none,
    subject = owner,
    once_per = [serial, batch],
)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MintToken {
    #[key(text)]
    #[serde(serialize_with = "as_text")]
    serial: u128,
    #[key(text)]
    small: Option<u64>,
    #[key(text)]
    none: Option<i128>,
    #[key(set)]
    tags: HashSet<String>,
    #[key(set)]
    sizes: Option<Vec<u32>>,
    #[key(display)]
    owner: ForeignId,
    #[key(display)]
    holder: Option<ForeignId>,
    #[key(text)]
    batch: i128,
}

fn as_text<S: serde::Serializer>(value: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

fn main() -> Result<(), idem::KeyError> {
    let mint = |tags: [&str; 3], batch| MintToken {
        serial: u128::MAX,
        small: Some(u64::MAX),
        none: None,
        tags: tags.map(str::to_owned).into(),
        sizes: Some(vec![10, 9, 100]),
        owner: ForeignId(7),
        holder: Some(ForeignId(8)),
        batch,
    };
    let one = derive(&mint(["a", "b", "c"], 1), None)?;
    assert_eq!(
        String::from_utf8_lossy(&one.preimage),
        r#"{"action":"token.mint","holder":"F-0008","owner":"F-0007","serial":"340282366920938463463374607431768211455","sizes":[10,100,9],"small":"18446744073709551615","tags":["a","b","c"]}"#
    );
    assert_eq!(one.subject.as_deref(), Some("F-0007"));
    let orders: BTreeSet<_> = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
        .map(|tags| derive(&mint(tags, 1), None).map(|it| it.key))
        .into_iter()
        .collect::<Result<_, _>>()?;
    assert_eq!(orders.len(), 1);
    let other = derive(&mint(["a", "b", "c"], 2), None)?;
    assert_eq!(one.key, other.key);
    assert_ne!(one.place, other.place);
    // A thing given twice is not the same as given once, and what it should be is not guessed.
    let mut twice = mint(["a", "b", "c"], 1);
    twice.sizes = Some(vec![1, 1]);
    assert!(derive(&twice, None).is_err());
    Ok(())
}
