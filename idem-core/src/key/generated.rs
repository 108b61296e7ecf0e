//! Text that a model writes.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::canonical::{CanonicalError, CanonicalWriter};
use super::refused::{AnyKey, NotInKeys};
use super::{KeyField, Shape};

/// A value that a model words: a rationale, a summary, an e-mail's body. It can never be part of a key, because the next
/// attempt words it anew.
///
/// On the wire, and in a JSON schema (feature `schemars`), it is what is inside.
///
/// # Examples
///
/// ```
/// use idem_core::Generated;
///
/// let body: Generated<String> = serde_json::from_str("\"Dear customer\"")?;
/// assert_eq!(body.len(), 13);
/// assert_eq!(serde_json::to_string(&body)?, "\"Dear customer\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// As a key field it does not compile:
///
/// ```compile_fail,E0277
/// # use idem_core::{Generated, KeyField};
/// fn key<M, T: KeyField<M>>() {}
/// key::<_, Option<Generated<String>>>();
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Generated<T>(pub T);

impl<T> Generated<T> {
    /// Returns what is inside.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Generated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Generated<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

// No `Display`: `#[key(display)]` would take it for an id.

impl<T: fmt::Debug> fmt::Debug for Generated<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Holds for no type. It exists for its message, as those in [`refused`](super::refused).
#[diagnostic::on_unimplemented(
    message = "what a model writes cannot be part of a key: it is another text on every attempt",
    label = "written by a model",
    note = "mark the field `#[transient]`, or leave it in the payload if another text shall be refused",
    note = "put what the text is about into the key: the case, the campaign and the recipient, the run and the step"
)]
pub trait HoldsGenerated<T> {}

#[doc(hidden)]
impl<'k, T> KeyField<NotInKeys<'k>> for Generated<T>
where
    AnyKey<'k>: HoldsGenerated<T>,
{
    const SHAPE: Shape = Shape::opaque();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        // Nobody can call it. A value is due all the same.
        out.null()
    }
}
