//! `#[key(text)]`: integers of any size, as their decimal digits in quotes.

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

/// An integer that `#[key(text)]` can write: as a string of its decimal digits, of any size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no integer, so `#[key(text)]` cannot write it",
    label = "not an integer",
    note = "`#[key(text)]` is for integers that may leave ±(2^53−1): `i64`, `u64`, `i128`, `u128`, also in an `Option`",
    note = "for the id type of another crate use `#[key(display)]`"
)]
pub trait KeyText {
    /// The form of the values.
    const SHAPE: Shape = Shape::text();

    /// Writes the digits in quotes.
    ///
    /// # Errors
    ///
    /// When a value already stands here.
    fn write_text(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError>;

    /// Returns whether the value is `None`.
    fn is_left_out(&self) -> bool {
        false
    }
}

macro_rules! integers {
    ($($integer:ty),* $(,)?) => {
        $(impl KeyText for $integer {
            fn write_text(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                out.string(itoa::Buffer::new().format(*self))
            }
        })*
    };
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

macro_rules! non_zero {
    ($($integer:ident),* $(,)?) => {
        $(impl KeyText for std::num::$integer {
            fn write_text(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
                self.get().write_text(out)
            }
        })*
    };
}

non_zero!(NonZeroI64, NonZeroI128, NonZeroU64, NonZeroU128);

impl<T: KeyText> KeyText for Option<T> {
    const SHAPE: Shape = Shape::optional(T::SHAPE);

    fn write_text(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        match self {
            Some(value) => value.write_text(out),
            None => out.null(),
        }
    }

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

impl<T: KeyText + ?Sized> KeyText for &T {
    const SHAPE: Shape = T::SHAPE;

    fn write_text(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        (**self).write_text(out)
    }

    fn is_left_out(&self) -> bool {
        (**self).is_left_out()
    }
}

/// Writes the value it borrows as [`KeyText`] does, wherever a [`KeyField`] is written.
#[derive(Debug)]
pub struct AsText<'v, T: ?Sized>(pub &'v T);

impl<T: KeyText + ?Sized> KeyField for AsText<'_, T> {
    const SHAPE: Shape = T::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        self.0.write_text(out)
    }

    fn is_absent(&self) -> bool {
        self.0.is_left_out()
    }
}
