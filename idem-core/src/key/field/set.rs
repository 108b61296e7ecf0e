//! `#[key(set)]`: collections whose order does not count.

use std::collections::{BTreeSet, HashSet};

use super::{ElementMarker, KeyField};
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

/// A collection that `#[key(set)]` can write: as an array of its elements, sorted by the bytes of their canonical form.
///
/// An element given twice is an error: if it were left out, an input with two of a thing would have the key of an input
/// with one, and its effect would be dropped.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of values that may be part of a key",
    label = "not a set",
    note = "`#[key(set)]` is for a `HashSet`, `BTreeSet`, `Vec`, slice or array of `KeyField` values, also in an `Option`",
    note = "a row of bytes: use `Digest::of(bytes)`"
)]
pub trait KeySet<M> {
    /// The form of the values.
    const SHAPE: Shape;

    /// Writes the elements in order.
    ///
    /// # Errors
    ///
    /// When an element is refused, or is given twice.
    fn write_set(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError>;

    /// Returns whether the value is `None`.
    fn is_left_out(&self) -> bool {
        false
    }
}

macro_rules! sets {
    ($([$($generics:tt)*] $set:ty;)*) => {
        $(impl<$($generics)*> KeySet<M> for $set {
            const SHAPE: Shape = Shape::set(T::SHAPE);

            fn write_set(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                out.set(self.iter())
            }
        })*
    };
}

sets! {
    [M, T: KeyField<M>, S] HashSet<T, S>;
    [M, T: KeyField<M>] BTreeSet<T>;
    [M: ElementMarker, T: KeyField<M>] Vec<T>;
    [M: ElementMarker, T: KeyField<M>] [T];
    [M: ElementMarker, T: KeyField<M>, const N: usize] [T; N];
}

impl<M, T: KeySet<M>> KeySet<M> for Option<T> {
    const SHAPE: Shape = Shape::optional(T::SHAPE);

    fn write_set(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        match self {
            Some(value) => value.write_set(out),
            None => out.null(),
        }
    }

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

impl<M, T: KeySet<M> + ?Sized> KeySet<M> for &T {
    const SHAPE: Shape = T::SHAPE;

    fn write_set(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        (**self).write_set(out)
    }

    fn is_left_out(&self) -> bool {
        (**self).is_left_out()
    }
}

/// Writes the value it borrows as [`KeySet`] does, wherever a [`KeyField`] is written.
#[derive(Debug)]
pub struct AsSet<'v, T: ?Sized>(pub &'v T);

/// Marks [`AsSet`].
#[derive(Clone, Copy, Debug)]
pub struct Sorted<M>(std::marker::PhantomData<M>);

impl<M, T: KeySet<M> + ?Sized> KeyField<Sorted<M>> for AsSet<'_, T> {
    const SHAPE: Shape = T::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        self.0.write_set(out)
    }

    fn is_absent(&self) -> bool {
        self.0.is_left_out()
    }
}
