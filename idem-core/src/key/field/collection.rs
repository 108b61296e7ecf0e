//! Rows, and collections that have an order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::{ElementMarker, KeyField};
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

impl<M: ElementMarker, T: KeyField<M>> KeyField<M> for [T] {
    const SHAPE: Shape = Shape::list(T::SHAPE);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.array(|elements| self.iter().try_for_each(|element| elements.key(element)))
    }
}

impl<M: ElementMarker, T: KeyField<M>> KeyField<M> for Vec<T> {
    const SHAPE: Shape = <[T]>::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        self.as_slice().write(out)
    }
}

impl<M: ElementMarker, T: KeyField<M>, const N: usize> KeyField<M> for [T; N] {
    const SHAPE: Shape = <[T]>::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        self.as_slice().write(out)
    }
}

/// Marks a collection that says for itself what its elements are, so that even a set of `u8` is no row of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ordered<M>(std::marker::PhantomData<M>);

#[diagnostic::do_not_recommend]
impl<M> ElementMarker for Ordered<M> {}

/// The elements are written in the set's own order, which is also what serde writes.
impl<M, T: KeyField<M>> KeyField<Ordered<M>> for BTreeSet<T> {
    const SHAPE: Shape = Shape::ordered(T::SHAPE);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.array(|elements| self.iter().try_for_each(|element| elements.key(element)))
    }
}

/// An entry whose value is `None` is `null`: unlike a field, it says something that a missing entry does not.
impl<M, K: KeyName, V: KeyField<M>> KeyField<Ordered<M>> for BTreeMap<K, V> {
    const SHAPE: Shape = Shape::map(V::SHAPE);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.object(|members| {
            self.iter()
                .try_for_each(|(name, value)| members.entry(&name.name(), value))
        })
    }
}

/// A type whose values can name the members of a map in a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name the members of a map in a key",
    label = "not a name",
    note = "use a string, or a `BTreeSet` of pairs"
)]
pub trait KeyName {
    /// Returns the name.
    fn name(&self) -> Cow<'_, str>;
}

macro_rules! names {
    ($($text:ty),* $(,)?) => {
        $(impl KeyName for $text {
            fn name(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
        })*
    };
}

names!(String, &str, Box<str>, Rc<str>, Arc<str>, Cow<'_, str>);

impl KeyName for char {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl KeyName for uuid::Uuid {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}
