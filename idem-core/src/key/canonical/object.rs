//! Objects: members as they come, sorted at the end if they did not come sorted.

use std::cmp::Ordering;

use super::text::unescaped;
use super::writer::{CanonicalWriter, misuse};
use super::{CanonicalError, CanonicalErrorKind, Written};

/// An object being written.
#[derive(Debug)]
pub(super) struct Object {
    /// Where its first byte after the bracket is.
    start: usize,
    /// Its first member in the writer's stack.
    first: usize,
    /// The member begun last, in the same stack.
    last: usize,
    depth: usize,
    sorted: bool,
}

/// A member in the buffer: its bytes from the name's opening quote to the end of the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    start: usize,
    name_end: usize,
    end: usize,
    position: Option<usize>,
    /// Whether the name has escapes, so that its bytes are not yet what is compared.
    escaped: bool,
}

impl CanonicalWriter {
    #[inline]
    pub(super) fn open_object(&mut self) -> Result<Object, CanonicalError> {
        self.open(b'{')?;
        let first = self.members.len();
        Ok(Object {
            start: self.buffer.len(),
            first,
            last: first,
            depth: self.depth,
            sorted: true,
        })
    }

    /// Writes a name; a value is due after it.
    #[inline]
    pub(super) fn open_member(&mut self, object: &mut Object, name: &str) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("a member was begun before the last one was written to its end"));
        }
        if self.members.len() > object.first {
            self.buffer.push(b',');
        }
        let start = self.buffer.len();
        let escaped = self.quoted(name)?;
        let name_end = self.buffer.len();
        self.buffer.push(b':');
        self.begun(object, start, name_end, escaped)
    }

    /// Writes a name as generated code has it, `,"name":` without escapes; a value is due after it.
    #[inline]
    pub(super) fn open_written(&mut self, object: &mut Object, written: &'static str) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("a member was begun before the last one was written to its end"));
        }
        let written = written.as_bytes();
        let comma = usize::from(self.members.len() > object.first);
        let start = self.buffer.len() + comma;
        self.buffer
            .extend_from_slice(written.get(1 - comma..).unwrap_or_default());
        let name_end = self.buffer.len() - 1;
        self.begun(object, start, name_end, false)
    }

    #[inline]
    fn begun(&mut self, object: &mut Object, start: usize, name_end: usize, escaped: bool) -> Written {
        let member = Member {
            start,
            name_end,
            end: name_end,
            escaped,
            position: self.position,
        };
        if object.sorted
            && let Some(last) = self.members[object.first..].last()
            && !self.is_plainly_less(last, &member)
        {
            match self.compare(last, &member) {
                Ordering::Less => {}
                Ordering::Equal => return Err(self.duplicate(&member)),
                Ordering::Greater => object.sorted = false,
            }
        }
        object.last = self.members.len();
        self.members.push(member);
        self.vacant = true;
        Ok(())
    }

    #[inline]
    pub(super) fn close_member(&mut self, object: &Object) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("no value was written for the member"));
        }
        if let Some(member) = self.members.last_mut() {
            member.end = self.buffer.len();
        }
        if object.sorted && self.depth == 1 {
            self.feed();
        }
        Ok(())
    }

    /// Takes back the member just begun.
    pub(super) fn abandon_member(&mut self, object: &Object) {
        if let Some(member) = self.members.pop() {
            let comma = usize::from(self.members.len() > object.first);
            self.buffer.truncate(member.start - comma);
        }
        self.vacant = false;
    }

    #[inline]
    pub(super) fn close_object(&mut self, object: Object) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse(
                "an object was closed before its last member was written to its end",
            ));
        }
        if !object.sorted {
            self.sort(&object)?;
        }
        self.members.truncate(object.first);
        self.close(b'}');
        self.check_size(0)
    }

    pub(super) fn is_empty(&self, object: &Object) -> bool {
        self.members.len() == object.first
    }

    /// Returns the name of the object's member begun last, for the path of an error.
    pub(super) fn last_name(&self, object: &Object) -> String {
        self.members
            .get(object.last)
            .map(|member| self.name_of(member))
            .unwrap_or_default()
    }

    fn sort(&mut self, object: &Object) -> Written {
        self.unfeed(object.start);
        let mut members = self.members.split_off(object.first);
        members.sort_by(|a, b| self.compare(a, b));
        if let Some(pair) = members.windows(2).find(|pair| self.compare(&pair[0], &pair[1]).is_eq()) {
            return Err(self.duplicate(&pair[1]).within_member(&self.name_of(&pair[1])));
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(&self.buffer[object.start..]);
        self.buffer.truncate(object.start);
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.buffer.push(b',');
            }
            self.buffer
                .extend_from_slice(&scratch[member.start - object.start..member.end - object.start]);
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Whether the first characters, both ASCII and none of them `\\` or the closing quote, already tell that a name is
    /// less than another.
    #[inline]
    fn is_plainly_less(&self, a: &Member, b: &Member) -> bool {
        let (left, right) = (self.buffer[a.start + 1], self.buffer[b.start + 1]);
        left < right && left > b'"' && right < 0x80 && left != b'\\' && right != b'\\'
    }

    /// Orders two names by their UTF-16 code units.
    fn compare(&self, a: &Member, b: &Member) -> Ordering {
        let (left, right) = (self.name_bytes(a), self.name_bytes(b));
        match a.escaped || b.escaped {
            false => left
                .iter()
                .map(|byte| weight(*byte))
                .cmp(right.iter().map(|byte| weight(*byte))),
            true => unescaped(left).map(weight).cmp(unescaped(right).map(weight)),
        }
    }

    fn name_bytes(&self, member: &Member) -> &[u8] {
        &self.buffer[member.start + 1..member.name_end - 1]
    }

    fn name_of(&self, member: &Member) -> String {
        String::from_utf8_lossy(&unescaped(self.name_bytes(member)).collect::<Vec<_>>()).into_owned()
    }

    fn duplicate(&self, member: &Member) -> CanonicalError {
        let error = CanonicalError::new(
            CanonicalErrorKind::DuplicateName,
            "the name is given twice in one object, and readers differ in which of them they keep: give it once",
        );
        match member.position {
            Some(position) => error.at(position),
            None => error,
        }
    }
}

/// Makes the order of UTF-8 bytes that of UTF-16 code units.
///
/// The two differ in one place: surrogates (from lead bytes `F0` to `F4`) come before U+E000..U+FFFF (`EE`, `EF`).
/// Names differ first in a lead byte or in a trailing byte of characters that share theirs, so a weight per byte is
/// enough.
fn weight(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    }
}
