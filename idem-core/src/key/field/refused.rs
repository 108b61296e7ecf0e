//! Types without a stable identity, each with a message that says what to use instead.
//!
//! An implementation under a condition that never holds makes the compiler tell the condition's own message, rather
//! than one that has to fit every type. The conditions are about [`AnyKey`] and not about the type itself, because the
//! compiler prefers the message of `KeyField` for that; the lifetime keeps it from refusing them outright. They are
//! written without a macro, which messages would show.

#![cfg_attr(
    feature = "chrono",
    doc = "
```compile_fail,E0277
fn key<M, T: idem_core::KeyField<M>>() {}
key::<_, chrono::DateTime<chrono::Utc>>();
```"
)]
#![cfg_attr(
    feature = "jiff",
    doc = "
```compile_fail,E0277
fn key<M, T: idem_core::KeyField<M>>() {}
key::<_, jiff::Timestamp>();
```"
)]
#![cfg_attr(
    feature = "time",
    doc = "
```compile_fail,E0277
fn key<M, T: idem_core::KeyField<M>>() {}
key::<_, Option<time::OffsetDateTime>>();
```"
)]

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::time::{Instant, SystemTime};

use super::{ElementMarker, KeyField, Native};
use crate::key::canonical::{CanonicalError, CanonicalErrorKind, CanonicalWriter};

/// What the types are refused in.
#[derive(Clone, Copy, Debug)]
pub struct AnyKey<'k>(PhantomData<&'k ()>);

/// Marks the implementations for types that are refused.
#[derive(Clone, Copy, Debug)]
pub struct NotInKeys<'k>(PhantomData<&'k ()>);

// So that a row of them is told about once.
#[diagnostic::do_not_recommend]
impl ElementMarker for NotInKeys<'_> {}

fn never() -> Result<(), CanonicalError> {
    Err(CanonicalError::new(
        CanonicalErrorKind::Misuse,
        "a type that is refused in keys",
    ))
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no stable identity, so it cannot be part of a key",
    label = "a float, which two attempts may compute differently",
    note = "use integer minor units (cents), or a decimal string"
)]
pub trait HoldsFloats<T: ?Sized> {}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for f32
where
    AnyKey<'k>: HoldsFloats<f32>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for f64
where
    AnyKey<'k>: HoldsFloats<f64>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no stable identity, so it cannot be part of a key",
    label = "an instant, which is another one on each attempt",
    note = "use the id of the event that it belongs to, or a civil date",
    note = "a time that is noted and identifies nothing: mark the field `#[transient]`"
)]
pub trait HoldsInstants<T: ?Sized> {}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for SystemTime
where
    AnyKey<'k>: HoldsInstants<SystemTime>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for Instant
where
    AnyKey<'k>: HoldsInstants<Instant>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[cfg(feature = "chrono")]
#[doc(hidden)]
impl<'k, Z: chrono::TimeZone> KeyField<NotInKeys<'k>> for chrono::DateTime<Z>
where
    AnyKey<'k>: HoldsInstants<chrono::DateTime<Z>>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[cfg(feature = "jiff")]
#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for jiff::Timestamp
where
    AnyKey<'k>: HoldsInstants<jiff::Timestamp>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[cfg(feature = "jiff")]
#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for jiff::Zoned
where
    AnyKey<'k>: HoldsInstants<jiff::Zoned>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[cfg(feature = "time")]
#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for time::OffsetDateTime
where
    AnyKey<'k>: HoldsInstants<time::OffsetDateTime>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no stable identity, so it cannot be part of a key",
    label = "a hash set, which has another order each time",
    note = "use a `BTreeSet`, or mark the field `#[key(set)]` to have it sorted in the key"
)]
pub trait HoldsHashSets<T: ?Sized> {}

#[doc(hidden)]
impl<'k, T, S> KeyField<NotInKeys<'k>> for HashSet<T, S>
where
    AnyKey<'k>: HoldsHashSets<HashSet<T, S>>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no stable identity, so it cannot be part of a key",
    label = "a hash map, which has another order each time",
    note = "use a `BTreeMap`"
)]
pub trait HoldsHashMaps<T: ?Sized> {}

#[doc(hidden)]
impl<'k, K, V, S> KeyField<NotInKeys<'k>> for HashMap<K, V, S>
where
    AnyKey<'k>: HoldsHashMaps<HashMap<K, V, S>>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no stable identity, so it cannot be part of a key",
    label = "an integer of 128 bits, which other programs round",
    note = "mark the field `#[key(text)]` to have its decimal digits as a string in the key, or use a `Uuid`"
)]
pub trait HoldsWideIntegers<T: ?Sized> {}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for i128
where
    AnyKey<'k>: HoldsWideIntegers<i128>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

#[doc(hidden)]
impl<'k> KeyField<NotInKeys<'k>> for u128
where
    AnyKey<'k>: HoldsWideIntegers<u128>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "`u8` cannot take the place of a type parameter in a key",
    label = "a byte, of which a row would be a byte string",
    note = "use `u16`, or a newtype of `u8` with `#[derive(KeyField)]`"
)]
pub trait HoldsBytes<T: ?Sized> {}

// By itself a `u8` is an integer, through the implementation for `Single`.
#[doc(hidden)]
impl KeyField<Native> for u8
where
    for<'k> AnyKey<'k>: HoldsBytes<u8>,
{
    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        never()
    }
}
