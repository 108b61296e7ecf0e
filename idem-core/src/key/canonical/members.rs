//! What an object and an array are written through.

use serde::Serialize;

use super::object::Object;
use super::serialize::Serializer;
use super::writer::{CanonicalWriter, misuse};
use super::{CanonicalError, CanonicalErrorKind, Written};
use crate::key::field::{AsDisplay, AsSet, AsText};
use crate::key::{KeyDisplay, KeyField, KeySet, KeyText};

/// A JSON object being written.
///
/// Members are sorted by the UTF-16 code units of their names; given in that order they are written once and never
/// moved, which is what generated code does.
#[derive(Debug)]
pub struct Members<'w> {
    writer: &'w mut CanonicalWriter,
    object: Object,
    is_anchored: bool,
}

impl<'w> Members<'w> {
    /// Writes a key field, which anchors the key unless it is absent. An absent field is left out.
    ///
    /// # Errors
    ///
    /// When the value is refused, the name stands already, or the field is absent where none may be.
    pub fn key<M, T: KeyField<M> + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        if value.is_absent() && !self.writer.complete {
            self.lacks(name);
            return Ok(());
        }
        self.entry(name, value)
    }

    /// Writes an integer of any size as a key field, as a string of its decimal digits (`#[key(text)]`).
    ///
    /// # Errors
    ///
    /// When the name stands already, or the field is absent where none may be.
    pub fn key_text<T: KeyText + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.key(name, &AsText(value))
    }

    /// Writes a collection as a key field, its elements sorted by their canonical form (`#[key(set)]`).
    ///
    /// # Errors
    ///
    /// When an element is refused or given twice, the name stands already, or the field is absent where none may be.
    pub fn key_set<M, T: KeySet<M> + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.key(name, &AsSet(value))
    }

    /// Writes a value as a key field, as the string that its `Display` makes (`#[key(display)]`).
    ///
    /// # Errors
    ///
    /// When the `Display` fails, the name stands already, or the field is absent where none may be.
    pub fn key_display<M, T: KeyDisplay<M> + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.key(name, &AsDisplay(value))
    }

    /// Writes the field that names the tenant: a member of the key, but no anchor.
    ///
    /// # Errors
    ///
    /// When the value is refused or the name stands already.
    pub fn tenant<M, T: KeyField<M> + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.member(name, |writer| value.write(writer))
    }

    /// Writes a payload or basis field through serde; `None` is left out.
    ///
    /// # Errors
    ///
    /// When the value is refused or the name stands already.
    pub fn value<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.optional(name, |writer| value.serialize(Serializer::field(writer)))
    }

    // What generated code calls: a name that needs no escape, written as it stands in an object, `,"name":`.

    #[doc(hidden)]
    pub fn __key<M, T: KeyField<M> + ?Sized>(&mut self, written: &'static str, value: &T) -> Written {
        let is_absent = value.is_absent();
        if is_absent && !self.writer.complete {
            self.lacks(plain(written));
            return Ok(());
        }
        let before = self.writer.leaves;
        self.written(written, false, |writer| match is_absent {
            true => Err(absent()),
            false => value.write(writer),
        })?;
        self.is_anchored |= self.writer.leaves > before;
        Ok(())
    }

    #[doc(hidden)]
    pub fn __tenant(&mut self, written: &'static str, tenant: &str) -> Written {
        self.written(written, false, |writer| writer.string(tenant))
    }

    #[doc(hidden)]
    pub fn __value<T: Serialize + ?Sized>(&mut self, written: &'static str, value: &T) -> Written {
        self.written(written, true, |writer| value.serialize(Serializer::field(writer)))
    }

    /// Writes a member; one that `may_lack` its value is taken back when none was written.
    #[inline]
    fn written(
        &mut self,
        written: &'static str,
        may_lack: bool,
        write: impl FnOnce(&mut CanonicalWriter) -> Written,
    ) -> Written {
        let mut done = self.writer.open_written(&mut self.object, written);
        if done.is_ok() {
            done = write(self.writer);
        }
        if done.is_ok() {
            if may_lack && self.writer.vacant {
                self.writer.abandon_member(&self.object);
                return Ok(());
            }
            done = self.writer.close_member(&self.object);
        }
        done.map_err(|error| error.within_member(plain(written)))
    }

    pub(crate) fn open(writer: &'w mut CanonicalWriter) -> Result<Self, CanonicalError> {
        let object = writer.open_object()?;
        Ok(Self {
            writer,
            object,
            is_anchored: false,
        })
    }

    pub(crate) fn close(self) -> Result<&'w mut CanonicalWriter, CanonicalError> {
        self.writer.close_object(&self.object)?;
        Ok(self.writer)
    }

    /// Returns the names of the key fields that are absent.
    pub(crate) fn absent(&self) -> &[&'static str] {
        &self.writer.absent
    }

    fn lacks(&mut self, name: &'static str) {
        if self.writer.depth == 1 {
            self.writer.absent.push(name);
        }
    }

    /// Returns whether a key field has a value. An object whose own fields are all absent is none.
    pub(crate) fn is_anchored(&self) -> bool {
        self.is_anchored
    }

    /// Returns whether no member has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.writer.is_empty(&self.object)
    }

    /// Writes a key field under any name; an absent one is `null`.
    pub(crate) fn entry<M, T: KeyField<M> + ?Sized>(&mut self, name: &str, value: &T) -> Written {
        let before = self.writer.leaves;
        self.member(name, |writer| match writer.complete && value.is_absent() {
            true => Err(absent()),
            false => value.write(writer),
        })?;
        self.is_anchored |= self.writer.leaves > before;
        Ok(())
    }

    /// Writes a member; `write` must write its value.
    pub(crate) fn member(&mut self, name: &str, write: impl FnOnce(&mut CanonicalWriter) -> Written) -> Written {
        self.writer
            .open_member(&mut self.object, name)
            .and_then(|()| write(self.writer))
            .and_then(|()| self.writer.close_member(&self.object))
            .map_err(|error| error.within_member(name))
    }

    /// Writes a member, or takes it back when `write` wrote nothing.
    pub(super) fn optional(&mut self, name: &str, write: impl FnOnce(&mut CanonicalWriter) -> Written) -> Written {
        self.writer
            .open_member(&mut self.object, name)
            .and_then(|()| write(self.writer))
            .and_then(|()| match self.writer.vacant {
                true => {
                    self.writer.abandon_member(&self.object);
                    Ok(())
                }
                false => self.writer.close_member(&self.object),
            })
            .map_err(|error| error.within_member(name))
    }

    /// The two halves of a member, for serde's maps.
    pub(super) fn begin(&mut self, name: &str) -> Written {
        self.writer
            .open_member(&mut self.object, name)
            .map_err(|error| error.within_member(name))
    }

    pub(super) fn end(&mut self, write: impl FnOnce(&mut CanonicalWriter) -> Written) -> Written {
        write(self.writer)
            .and_then(|()| self.writer.close_member(&self.object))
            .map_err(|error| error.within_member(&self.writer.last_name(&self.object)))
    }

    pub(super) fn writer(&mut self) -> &mut CanonicalWriter {
        self.writer
    }
}

/// A JSON array being written.
#[derive(Debug)]
pub struct Elements<'w> {
    writer: &'w mut CanonicalWriter,
    depth: u8,
    index: usize,
}

impl<'w> Elements<'w> {
    /// Writes an element; an absent one is `null`.
    ///
    /// # Errors
    ///
    /// When the value is refused, or is absent where none may be.
    pub fn key<M, T: KeyField<M> + ?Sized>(&mut self, value: &T) -> Written {
        self.element(|writer| match writer.complete && value.is_absent() {
            true => Err(absent()),
            false => value.write(writer),
        })
    }

    pub(super) fn open(writer: &'w mut CanonicalWriter) -> Result<Self, CanonicalError> {
        writer.open(b'[')?;
        let depth = writer.depth;
        Ok(Self {
            writer,
            depth,
            index: 0,
        })
    }

    pub(super) fn element(&mut self, write: impl FnOnce(&mut CanonicalWriter) -> Written) -> Written {
        if self.index > 0 {
            self.writer.buffer.push(b',');
        }
        self.writer.vacant = true;
        write(self.writer)
            .and_then(|()| self.check("no value was written for the element"))
            .and_then(|()| self.writer.check_size(0))
            .map_err(|error| error.within_element(self.index))?;
        self.index += 1;
        Ok(())
    }

    /// Writes an element and returns where its value is.
    pub(super) fn span(
        &mut self,
        write: impl FnOnce(&mut Self) -> Written,
    ) -> Result<std::ops::Range<usize>, CanonicalError> {
        let comma = usize::from(self.index > 0);
        let start = self.writer.buffer.len() + comma;
        write(self)?;
        Ok(start..self.writer.buffer.len())
    }

    /// Puts the elements, which are all that was written, into the order of their bytes.
    pub(super) fn sort(&mut self, mut spans: Vec<std::ops::Range<usize>>) -> Written {
        let Some(start) = spans.first().map(|first| first.start) else {
            return Ok(());
        };
        let mut scratch = std::mem::take(&mut self.writer.scratch);
        scratch.clear();
        scratch.extend_from_slice(&self.writer.buffer[start..]);
        let form = |span: &std::ops::Range<usize>| &scratch[span.start - start..span.end - start];
        spans.sort_by(|a, b| form(a).cmp(form(b)));
        if spans.windows(2).any(|pair| form(&pair[0]) == form(&pair[1])) {
            return Err(CanonicalError::new(
                CanonicalErrorKind::DuplicateElement,
                "an element is given twice, and one of them would be lost in a set: give it once, or use a list",
            ));
        }
        self.writer.buffer.truncate(start);
        for (index, span) in spans.iter().enumerate() {
            if index > 0 {
                self.writer.buffer.push(b',');
            }
            self.writer.buffer.extend_from_slice(form(span));
        }
        self.writer.scratch = scratch;
        Ok(())
    }

    pub(super) fn close(self) -> Result<&'w mut CanonicalWriter, CanonicalError> {
        self.check("an array was closed before its last element was written to its end")?;
        self.writer.close(b']');
        Ok(self.writer)
    }

    fn check(&self, reason: &str) -> Written {
        match self.writer.vacant || self.writer.depth != self.depth {
            true => Err(misuse(reason)),
            false => Ok(()),
        }
    }
}

/// The name in `,"name":`.
#[cold]
fn plain(written: &'static str) -> &'static str {
    written
        .strip_prefix(",\"")
        .and_then(|rest| rest.strip_suffix("\":"))
        .unwrap_or(written)
}

#[cold]
pub(crate) fn absent() -> CanonicalError {
    CanonicalError::new(
        CanonicalErrorKind::Absent,
        "the value is absent: a place needs all its fields, so leave the field out of the place or give it a value",
    )
}
