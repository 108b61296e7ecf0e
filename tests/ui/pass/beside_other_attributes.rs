//! Docs, lints, layouts and other derives survive, and the order of fields does not count.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};
use serde::{Deserialize, Serialize};

/// Documented.
#[must_use]
#[repr(C)]
#[non_exhaustive]
#[idempotent(action = "a", key = [id, line], tenant = none)]
#[cfg_attr(all(), derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default))]
#[derive(Serialize, Deserialize)]
#[expect(non_snake_case, reason = "the wire has this name")]
pub struct Order {
    /// Documented.
    #[doc(alias = "identity")]
    pub id: u8,
    /// Documented.
    #[allow(clippy::struct_field_names)]
    pub lineItem: u32,
    /// Documented.
    pub line: Line,
}

/// Documented.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, KeyField)]
#[repr(u8)]
pub enum Line {
    /// Documented.
    #[default]
    First = 1,
    /// Documented.
    Second = 7,
}

mod reordered {
    use super::{Line, idempotent};

    #[idempotent(tenant = none, key = [line, id], action = "a")]
    pub struct Order {
        pub line: Line,
        pub line_item: u32,
        pub id: u8,
    }
}

/// Documented.
fn main() -> Result<(), idem::KeyError> {
    let one = derive(&Order::default(), None)?.key;
    let two = derive(&reordered::Order { line: Line::First, line_item: 0, id: 0 }, None)?.key;
    assert_eq!(one, two);
    Ok(())
}
