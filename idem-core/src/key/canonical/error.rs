//! Why a value has no canonical form, and where in it.

use std::fmt::{self, Write as _};

/// A value that has no canonical form, with its path.
///
/// The path is written as in `params.items[3].price`; names that are no identifiers are quoted, as in
/// `params["unit price"]`. The path of the outermost value is the empty string.
pub struct CanonicalError(Box<Inner>);

/// Says what kind of thing was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CanonicalErrorKind {
    /// `NaN` or an infinity.
    NotFinite,
    /// An integer, or a double that is written like one, outside ±(2^53−1) in a key.
    IntegerOutOfRange,
    /// A number literal that no double can hold, or one with an absurd exponent.
    NumberOverflow,
    /// An `f32` in a key.
    SinglePrecision,
    /// A byte string in a key.
    Bytes,
    /// A civil date whose year is outside 0 to 9999.
    DateOutOfRange,
    /// A member name given twice in one object.
    DuplicateName,
    /// An element given twice in a set.
    DuplicateElement,
    /// A member name that is no string and has no one spelling as a string.
    UnsupportedName,
    /// More than 127 levels of nesting.
    TooDeep,
    /// More than 1 MiB of canonical form.
    TooLarge,
    /// Text that is not JSON.
    Syntax,
    /// Text that is not UTF-8, or a surrogate without its partner.
    Encoding,
    /// JSON text passed through serde unread.
    RawValue,
    /// A `None` where a value must stand.
    Absent,
    /// An error of the value's own `Serialize`.
    Serialize,
    /// A `KeyField` or `Serialize` that wrote no value, two values, or went on after an error.
    Misuse,
}

impl CanonicalError {
    /// Returns what kind of thing was refused.
    pub fn kind(&self) -> CanonicalErrorKind {
        self.0.kind
    }

    /// Returns the path of the value that was refused; empty for the outermost value.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            segment.append_to(&mut path);
        }
        path
    }

    /// Returns the byte at which the value begins, when it was read from JSON text.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// Returns what is wrong and what to do about it, without the path.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    pub(crate) fn new(kind: CanonicalErrorKind, reason: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            reason: reason.into(),
            path: Vec::new(),
            offset: None,
        }))
    }

    /// Puts the error into a member. The path is built on the way out, so that success pays nothing for it.
    pub(crate) fn within_member(mut self, name: &str) -> Self {
        self.0.path.push(Segment::Member(clip(name, 128)));
        self
    }

    pub(crate) fn within_element(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Element(index));
        self
    }

    /// Says at which byte of the text the value began, unless that is known more closely.
    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    pub(crate) fn without_offset(mut self) -> Self {
        self.0.offset = None;
        self
    }
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "`{}`: ", self.path())?;
        }
        f.write_str(&self.0.reason)?;
        match self.0.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CanonicalError")
            .field("kind", &self.0.kind)
            .field("path", &self.path())
            .field("reason", &self.0.reason)
            .field("offset", &self.0.offset)
            .finish()
    }
}

impl std::error::Error for CanonicalError {}

impl serde::ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(CanonicalErrorKind::Serialize, message.to_string())
    }
}

/// Cuts text that goes into an error, since a name or a literal may be as long as its sender likes.
pub(super) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

struct Inner {
    kind: CanonicalErrorKind,
    reason: String,
    /// Innermost first.
    path: Vec<Segment>,
    offset: Option<usize>,
}

enum Segment {
    Member(String),
    Element(usize),
}

impl Segment {
    fn append_to(&self, path: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Element(index) => write!(path, "[{index}]"),
            Self::Member(name) if !is_identifier(name) => write!(path, "[{name:?}]"),
            Self::Member(name) if path.is_empty() => path.write_str(name),
            Self::Member(name) => write!(path, ".{name}"),
        };
    }
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_use_dots_brackets_and_quotes() {
        let error = CanonicalError::new(CanonicalErrorKind::NotFinite, "no number")
            .within_member("unit price")
            .within_element(3)
            .within_member("items")
            .within_member("params");
        assert_eq!(error.path(), r#"params.items[3]["unit price"]"#);
        assert_eq!(error.to_string(), r#"`params.items[3]["unit price"]`: no number"#);
        assert_eq!(
            error.at(7).to_string(),
            r#"`params.items[3]["unit price"]`: no number (at byte 7)"#
        );
    }

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<CanonicalError>(), size_of::<usize>());
    }
}
