//! `#[key(display)]`: the id types of other crates, by their `Display`.

use std::fmt::Display;

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalWriter};

/// A value that `#[key(display)]` can write: as the string that its `Display` makes. `None` is left out.
///
/// The text must be the same for equal values, for ever: a type whose `Display` is meant for people may change it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `Display`, so `#[key(display)]` cannot write it",
    label = "no `Display`",
    note = "`#[key(display)]` is for the id type of another crate, also in an `Option`",
    note = "for a type of your own add `#[derive(KeyField)]` to it"
)]
pub trait KeyDisplay<M> {
    /// The form of the values.
    const SHAPE: Shape;

    /// Writes the text in quotes.
    ///
    /// # Errors
    ///
    /// When the `Display` fails, or the form grows beyond 1 MiB.
    fn write_display(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError>;

    /// Returns whether the value is `None`.
    fn is_left_out(&self) -> bool;
}

/// Marks a type that has a `Display` of its own.
#[derive(Clone, Copy, Debug)]
pub struct Itself;

/// Marks an option of a type that has one.
#[derive(Clone, Copy, Debug)]
pub struct InOption;

// So that a message is about this trait.
#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> KeyDisplay<Itself> for T {
    const SHAPE: Shape = Shape::text();

    fn write_display(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.display(self)
    }

    fn is_left_out(&self) -> bool {
        false
    }
}

#[diagnostic::do_not_recommend]
impl<T: Display> KeyDisplay<InOption> for Option<T> {
    const SHAPE: Shape = Shape::optional(Shape::text());

    fn write_display(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        match self {
            Some(value) => out.display(value),
            None => out.null(),
        }
    }

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

/// Writes the value it borrows as [`KeyDisplay`] does, wherever a [`KeyField`] is written.
#[derive(Debug)]
pub struct AsDisplay<'v, T: ?Sized>(pub &'v T);

/// Marks [`AsDisplay`].
#[derive(Clone, Copy, Debug)]
pub struct Shown<M>(std::marker::PhantomData<M>);

impl<M, T: KeyDisplay<M> + ?Sized> KeyField<Shown<M>> for AsDisplay<'_, T> {
    const SHAPE: Shape = T::SHAPE;

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        self.0.write_display(out)
    }

    fn is_absent(&self) -> bool {
        self.0.is_left_out()
    }
}
