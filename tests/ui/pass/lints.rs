//! Generated code brings no warnings into a strict crate.

#![deny(warnings, missing_docs, unused_qualifications, single_use_lifetimes, private_bounds, private_interfaces, unreachable_pub)]
#![forbid(unsafe_code)]

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

/// Deprecated, and still in use.
#[deprecated]
#[idempotent(action = "a", key = [id, generic], payload = [old], tenant = none)]
pub struct Old<T> {
    #[deprecated]
    id: u8,
    generic: Private<T>,
    #[deprecated]
    old: u8,
}

/// A type that nobody outside can name.
#[derive(KeyField, Serialize)]
pub struct Private<T>(Inner<T>);

#[derive(KeyField, Serialize)]
struct Inner<T> {
    value: T,
}

#[allow(deprecated)]
fn main() -> Result<(), idem::KeyError> {
    derive(&Old { id: 1, generic: Private(Inner { value: 1_u32 }), old: 2 }, None)?;
    Ok(())
}
