//! Types that hold themselves.

use super::KeyField;
use crate::key::Shape;
use crate::key::canonical::{CanonicalError, CanonicalErrorKind, CanonicalWriter};

/// Stands for a type inside itself while its shape is computed, which would have no end otherwise.
///
/// It has the traits that a container may ask of its elements, and is never a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recursive(());

impl KeyField for Recursive {
    const SHAPE: Shape = Shape::recursive();

    fn write(&self, _: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        Err(CanonicalError::new(
            CanonicalErrorKind::Misuse,
            "a stand-in has no value to write",
        ))
    }
}
