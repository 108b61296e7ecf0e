//! Strings, and what points to a value or may lack one.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::members::absent;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

impl KeyField for str {
    const SHAPE: Shape = Shape::text();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self)
    }
}

impl KeyField for String {
    const SHAPE: Shape = Shape::text();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self)
    }
}

macro_rules! pointers {
    ($($pointer:ty),* $(,)?) => {
        $(impl<M, T: KeyField<M> + ?Sized> KeyField<M> for $pointer {
            const SHAPE: Shape = T::SHAPE;

            fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                (**self).write(out)
            }

            fn is_absent(&self) -> bool {
                (**self).is_absent()
            }
        })*
    };
}

pointers!(&T, Box<T>, Rc<T>, Arc<T>);

impl<M, T: KeyField<M> + ToOwned + ?Sized> KeyField<M> for Cow<'_, T> {
    const SHAPE: Shape = T::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        (**self).write(out)
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<M, T: KeyField<M>> KeyField<M> for Option<T> {
    const SHAPE: Shape = Shape::optional(T::SHAPE);

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        match self {
            Some(value) if value.is_absent() && out.is_complete() => Err(absent()),
            Some(value) => value.write(out),
            None => out.null(),
        }
    }

    /// `Some(None)` is not absent: it is written `null`, and differs from `None`.
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}
