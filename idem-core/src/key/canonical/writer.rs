//! The one buffer that every canonical form is written to.

use serde::Serialize;

use super::members::{Elements, Members};
use super::object::{Member, NOWHERE};
use super::serialize::Serializer;
use super::{CanonicalError, CanonicalErrorKind, MAX_BYTES, MAX_DEPTH, Mode, Written};
use crate::key::KeyField;

/// Writes one value in canonical form.
///
/// A value is written by exactly one call: a scalar, [`array`](Self::array), [`object`](Self::object) or
/// [`serialize`](Self::serialize). After an error the writer is of no further use; [`finish`](Self::finish) never
/// returns a form that is cut short or malformed.
///
/// # Examples
///
/// ```
/// use idem_core::canonical::{CanonicalWriter, Mode};
///
/// let mut writer = CanonicalWriter::new(Mode::Key);
/// writer.object(|members| {
///     members.key("case", "C-7")?;
///     members.key("refund", &2_u32)
/// })?;
/// assert_eq!(writer.finish()?, br#"{"case":"C-7","refund":2}"#);
/// # Ok::<(), idem_core::CanonicalError>(())
/// ```
#[derive(Debug)]
pub struct CanonicalWriter {
    pub(super) buffer: Vec<u8>,
    /// Where the form that is being written begins.
    pub(super) base: usize,
    pub(super) mode: Mode,
    /// The containers that are open.
    pub(super) depth: u8,
    /// Whether a value is due. It makes a malformed form impossible, whatever a foreign implementation does.
    pub(super) vacant: bool,
    /// The members of all open objects, innermost last.
    pub(super) members: Vec<Member>,
    pub(super) scratch: Vec<u8>,
    /// Where in the text being read the next member begins.
    pub(super) position: u32,
    /// The values so far that say something: all but `null` and objects, which say what their members say.
    pub(super) leaves: usize,
    /// Whether `None` is refused, as in a `once_per` place.
    pub(super) complete: bool,
    /// Whether what reads back as something else is refused, as in an outcome.
    pub(super) lossless: bool,
    /// The key fields of the outermost object that are absent.
    pub(super) absent: Vec<&'static str>,
}

impl CanonicalWriter {
    /// Creates a writer for one value.
    pub fn new(mode: Mode) -> Self {
        Self::with_capacity(mode, 256)
    }

    pub(super) fn with_capacity(mode: Mode, capacity: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(capacity),
            base: 0,
            mode,
            depth: 0,
            vacant: true,
            members: Vec::new(),
            scratch: Vec::new(),
            position: NOWHERE,
            leaves: 0,
            complete: false,
            lossless: false,
            absent: Vec::new(),
        }
    }

    /// Makes room for the members of a document, which come as they like.
    pub(super) fn reserve_members(&mut self) {
        self.members.reserve(16);
    }

    /// Creates a writer of keys that refuses `None`.
    pub(crate) fn complete() -> Self {
        Self {
            complete: true,
            ..Self::new(Mode::Key)
        }
    }

    /// Creates a writer that refuses what JSON would give back as something else.
    pub(crate) fn lossless() -> Self {
        Self {
            lossless: true,
            ..Self::new(Mode::Fingerprint)
        }
    }

    /// Returns what the form is for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the canonical form.
    ///
    /// # Errors
    ///
    /// When it is longer than 1 MiB, or when no value was written to its end.
    pub fn finish(self) -> Result<Vec<u8>, CanonicalError> {
        self.check_end()?;
        Ok(self.buffer)
    }

    pub(super) fn check_end(&self) -> Written {
        if self.vacant || self.depth != 0 {
            return Err(misuse("the value was not written to its end"));
        }
        self.check_size(0)
    }

    /// Returns whether `None` is refused.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Writes `null`.
    ///
    /// # Errors
    ///
    /// When a value already stands here.
    pub fn null(&mut self) -> Written {
        self.occupy()?;
        self.buffer.extend_from_slice(b"null");
        Ok(())
    }

    /// Writes a boolean.
    ///
    /// # Errors
    ///
    /// When a value already stands here.
    pub fn boolean(&mut self, value: bool) -> Written {
        self.literal(if value { "true" } else { "false" })
    }

    /// Writes a string. Its code points are kept as they are: no normal form is applied.
    ///
    /// # Errors
    ///
    /// When the form grows beyond 1 MiB, or a value already stands here.
    pub fn string(&mut self, text: &str) -> Written {
        self.occupy_leaf()?;
        self.quoted(text).map(drop)
    }

    /// Writes bytes: as an array of numbers in a fingerprint, not at all in a key.
    ///
    /// # Errors
    ///
    /// In a key, or when the form grows beyond 1 MiB.
    pub fn bytes(&mut self, bytes: &[u8]) -> Written {
        if self.mode == Mode::Key {
            return Err(CanonicalError::new(
                CanonicalErrorKind::Bytes,
                "a byte string has no one JSON form: use `Digest::of(bytes)`, or send it as text",
            ));
        }
        self.array(|elements| {
            bytes
                .iter()
                .try_for_each(|byte| elements.element(|out| out.unsigned((*byte).into())))
        })
    }

    /// Writes an array, its elements in the order given.
    ///
    /// # Errors
    ///
    /// When an element is refused, or at more than 127 levels.
    pub fn array(&mut self, write: impl FnOnce(&mut Elements<'_>) -> Written) -> Written {
        let mut elements = Elements::open(self)?;
        write(&mut elements)?;
        elements.close().map(drop)
    }

    /// Writes an object, its members sorted by the UTF-16 code units of their names.
    ///
    /// # Errors
    ///
    /// When a member is refused, a name is given twice, or at more than 127 levels.
    pub fn object(&mut self, write: impl FnOnce(&mut Members<'_>) -> Written) -> Written {
        let mut members = Members::open(self)?;
        write(&mut members)?;
        members.close().map(drop)
    }

    /// Writes an array of elements whose order does not count, sorted by the bytes of their canonical form.
    pub(crate) fn set<'v, M, T: KeyField<M> + 'v>(&mut self, elements: impl Iterator<Item = &'v T>) -> Written {
        let mut spans = Vec::new();
        let mut out = Elements::open(self)?;
        for element in elements {
            spans.push(out.span(|out| out.key(element))?);
        }
        out.sort(spans)?;
        out.close().map(drop)
    }

    /// Writes a variant of an enum: an object with one member, which stands even when its value is `None`.
    ///
    /// # Errors
    ///
    /// When the value is refused, or at more than 127 levels.
    pub fn variant(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Written) -> Written {
        // The name alone says something.
        self.leaves += 1;
        self.object(|members| members.member(name, write))
    }

    /// Writes any serde value.
    ///
    /// # Errors
    ///
    /// When the value holds something that the writer's mode refuses.
    pub fn serialize<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(Serializer::new(self))
    }

    /// Takes the place where a value is due.
    #[inline]
    pub(super) fn occupy(&mut self) -> Written {
        match std::mem::replace(&mut self.vacant, false) {
            true => Ok(()),
            false => Err(misuse("two values were written where one is due")),
        }
    }

    #[inline]
    pub(super) fn occupy_leaf(&mut self) -> Written {
        self.leaves += 1;
        self.occupy()
    }

    pub(crate) fn literal(&mut self, text: &str) -> Written {
        self.occupy_leaf()?;
        self.buffer.extend_from_slice(text.as_bytes());
        Ok(())
    }

    pub(super) fn open(&mut self, bracket: u8) -> Written {
        self.occupy()?;
        if usize::from(self.depth) == MAX_DEPTH {
            return Err(CanonicalError::new(
                CanonicalErrorKind::TooDeep,
                format!(
                    "more than {MAX_DEPTH} levels of nesting: flatten the value, or use the digest of a part of it"
                ),
            ));
        }
        self.depth += 1;
        self.leaves += usize::from(bracket == b'[');
        self.buffer.push(bracket);
        Ok(())
    }

    pub(super) fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        self.buffer.push(bracket);
    }

    /// Refuses a form that with `more` bytes is too large. Asked before text is copied, so that memory stays bounded.
    #[inline]
    pub(super) fn check_size(&self, more: usize) -> Written {
        match (self.buffer.len() - self.base).saturating_add(more) <= MAX_BYTES {
            true => Ok(()),
            false => Err(too_large()),
        }
    }
}

#[cold]
fn too_large() -> CanonicalError {
    CanonicalError::new(
        CanonicalErrorKind::TooLarge,
        "more than 1 MiB of canonical form: use `Digest::of(bytes)` for large content",
    )
}

#[cold]
pub(super) fn misuse(reason: &str) -> CanonicalError {
    CanonicalError::new(CanonicalErrorKind::Misuse, reason)
}
