//! The canonical form that keys and fingerprints are hashed from: RFC 8785, strictly.
//!
//! One writer stands behind the serde `Serializer`, the [`KeyField`](crate::KeyField) types and the reader of JSON
//! text, so that a value has one spelling whichever way it comes in. The reference it is held against is
//! `serde_json_canonicalizer`; what that crate lets pass and a key must not (`NaN` as `null`, merged integers, repeated
//! names) is an error here, with the path of the value.
//!
//! ```
//! use idem_core::canonical::{self, Mode};
//!
//! let text = br#"{ "b": [1.0, 1e0], "a": "\u00e9" }"#;
//! assert_eq!(canonical::from_json(text, Mode::Key)?, r#"{"a":"é","b":[1,1]}"#.as_bytes());
//!
//! let error = canonical::from_json(br#"{"items":[{"price":9007199254740993}]}"#, Mode::Key).unwrap_err();
//! assert_eq!(error.path(), "items[0].price");
//! # Ok::<(), idem_core::CanonicalError>(())
//! ```

mod error;
mod forms;
mod map;
pub(crate) mod members;
mod name;
mod number;
mod object;
mod read;
mod serialize;
mod text;
mod writer;

pub use self::error::{CanonicalError, CanonicalErrorKind};
pub use self::members::{Elements, Members};
#[doc(hidden)]
pub use self::serialize::LOSSLESS;
pub use self::writer::CanonicalWriter;

use serde::Serialize;

/// Says what a canonical form is for, and so what it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// A key: RFC 8785, less everything that two parties could read differently (integers beyond ±(2^53−1), `f32`,
    /// byte strings).
    Key,
    /// A fingerprint: integers and decimals keep all their digits, byte strings are arrays of numbers, and a field that
    /// is `None` is left out.
    Fingerprint,
    /// RFC 8785 to the letter: every number is a double. Shows the form of a value that may have no key.
    Form,
}

/// The deepest nesting a canonical form may have; each array or object counts one.
pub const MAX_DEPTH: usize = 127;

/// The most bytes a canonical form may have: 1 MiB.
pub const MAX_BYTES: usize = 1 << 20;

/// Checks that a value reads back from JSON as what it is, as far as one can tell without reading it.
///
/// A value too long for a canonical form passes: outcomes have a limit of their own.
pub(crate) fn check_lossless<T: Serialize + ?Sized>(value: &T) -> Result<(), CanonicalError> {
    match CanonicalWriter::lossless().serialize(value) {
        Err(error) if error.kind() != CanonicalErrorKind::TooLarge => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a value in canonical form.
///
/// # Errors
///
/// When the value holds something `mode` refuses; the error names its path.
///
/// # Examples
///
/// ```
/// use idem_core::canonical::{self, Mode};
///
/// assert_eq!(canonical::to_vec(&("a", 1.5), Mode::Key)?, br#"["a",1.5]"#);
/// assert!(canonical::to_vec(&f64::NAN, Mode::Key).is_err());
/// # Ok::<(), idem_core::CanonicalError>(())
/// ```
pub fn to_vec<T: Serialize + ?Sized>(value: &T, mode: Mode) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = CanonicalWriter::new(mode);
    writer.serialize(value)?;
    writer.finish()
}

/// Reads JSON text and writes it in canonical form.
///
/// The grammar is RFC 8259 to the letter, in UTF-8 without a byte order mark. Names that are equal after unescaping are
/// refused at every depth. A number is judged by its literal: without `.`, `e` and `E` it is an integer.
///
/// # Errors
///
/// When the text is not JSON or holds something `mode` refuses; the error has the path and the byte offset.
pub fn from_json(text: &[u8], mode: Mode) -> Result<Vec<u8>, CanonicalError> {
    // Mostly as long as the text, and no more.
    let mut writer = CanonicalWriter::with_capacity(mode, text.len().min(MAX_BYTES));
    writer.reserve_members();
    read::read(text, &mut writer)?;
    writer.finish()
}

pub(crate) use self::read::copy_members;

/// What every writing step returns.
type Written = Result<(), CanonicalError>;
