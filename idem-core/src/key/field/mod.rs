//! The types that may identify an effect.

mod collection;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
mod date;
#[cfg(feature = "rust_decimal")]
mod decimal;
mod display;
mod integer_text;
mod recursive;
pub mod refused;
mod scalar;
mod set;
mod text;
mod tuple;
#[cfg(feature = "ulid")]
mod ulid;

pub use self::collection::{KeyName, Ordered};
pub use self::display::{AsDisplay, InOption, Itself, KeyDisplay};
pub use self::integer_text::{AsText, KeyText};
pub use self::recursive::Recursive;
pub use self::set::{AsSet, KeySet};

use super::Shape;
use super::canonical::{CanonicalError, CanonicalWriter, Elements, Members, Mode};

/// A type whose values have one spelling, and so may be part of a key.
///
/// `#[derive(KeyField)]` implements it for a type of your own. The parameter `M` is a marker: this crate uses
/// [`Native`]; an adapter crate uses a marker of its own, so that it can implement the trait for foreign types.
///
/// An implementation writes exactly one value, and the same one for equal values, on every machine and in every run.
///
/// # Examples
///
/// ```
/// use idem_core::canonical::CanonicalWriter;
/// use idem_core::{CanonicalError, KeyField, Shape};
///
/// struct CaseNumber { year: u16, serial: u32 }
///
/// impl KeyField for CaseNumber {
///     const SHAPE: Shape = Shape::scalar("case number");
///
///     fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
///         out.string(&format!("{}/{}", self.year, self.serial))
///     }
/// }
/// ```
///
/// What has no stable identity does not compile: floats, instants, hash collections, rows of bytes, 128-bit integers.
///
/// ```compile_fail,E0277
/// # use idem_core::KeyField;
/// fn key<M, T: KeyField<M>>() {}
/// key::<_, f64>();
/// ```
///
/// ```compile_fail,E0277
/// # use idem_core::KeyField;
/// # fn key<M, T: KeyField<M>>() {}
/// key::<_, Option<std::collections::HashSet<String>>>();
/// ```
///
/// ```compile_fail,E0277
/// # use idem_core::KeyField;
/// # fn key<M, T: KeyField<M>>() {}
/// key::<_, Vec<u8>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no stable identity, so it cannot be part of a key",
    label = "not allowed in a key",
    note = "a type of your own: add `#[derive(KeyField)]` to it",
    note = "an id type of another crate: mark the field `#[key(display)]` to have it as text in the key",
    note = "what is new on each attempt, such as a time or text that a model writes: mark the field `#[transient]`"
)]
pub trait KeyField<M = Native> {
    /// How the values are written, as far as the type tells it. What a pinned key sees of this type.
    const SHAPE: Shape = Shape::opaque();

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// When this value, unlike others of its type, cannot be part of a key.
    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError>;

    /// Returns whether the value is `None`, and so left out of an object.
    fn is_absent(&self) -> bool {
        false
    }

    // What generated code calls. All that a key asks of a field is asked of this trait and by one path, so that the
    // compiler tells a field of the wrong type once.

    #[doc(hidden)]
    fn __member(&self, name: &'static str, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key(name, self)
    }

    #[doc(hidden)]
    fn __to(&self, written: &'static str, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.__key(written, self)
    }

    #[doc(hidden)]
    fn __element(&self, out: &mut Elements<'_>) -> Result<(), CanonicalError> {
        out.key(self)
    }

    #[doc(hidden)]
    fn __subject(&self, path: &'static str) -> Result<Option<String>, CanonicalError> {
        subject_text(path, self)
    }
}

/// Marks the implementations of [`KeyField`] in this crate and of `#[derive(KeyField)]`.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// Marks `u8`, which is an integer by itself and a byte in a row.
#[derive(Clone, Copy, Debug)]
pub struct Single;

/// A marker of types that may stand in a row.
///
/// An adapter crate implements it for its own marker, so that its types may be elements of vectors and arrays.
#[diagnostic::on_unimplemented(
    message = "a row of bytes has no one JSON form, so it cannot be part of a key",
    label = "bytes are not allowed in a key",
    note = "use `Digest::of(bytes)` for content, a `String` for text and a `Uuid` for an identifier"
)]
pub trait ElementMarker {}

// A message about a row of bytes would list all of these.
#[diagnostic::do_not_recommend]
impl ElementMarker for Native {}

/// Returns the subject of an effect as text: a string as it is, another value in canonical form, `None` for `None`.
///
/// # Errors
///
/// When the value cannot be part of a key; the path is `path`.
pub fn subject_text<M, T: KeyField<M> + ?Sized>(
    path: &'static str,
    value: &T,
) -> Result<Option<String>, CanonicalError> {
    if value.is_absent() {
        return Ok(None);
    }
    let mut writer = CanonicalWriter::new(Mode::Key);
    let form = value
        .write(&mut writer)
        .and_then(|()| writer.finish())
        .map_err(|error| error.within_member(path))?;
    // A canonical form is JSON in UTF-8, so both of these always succeed.
    let form = String::from_utf8(form).unwrap_or_default();
    Ok(Some(serde_json::from_str::<String>(&form).unwrap_or(form)))
}

#[cfg(test)]
mod tests;
