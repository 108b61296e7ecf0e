//! Objects: members as they come, sorted at the end if they did not come sorted.

use std::cmp::Ordering;

use super::text::{is_plain, unescaped};
use super::writer::{CanonicalWriter, misuse};
use super::{CanonicalError, CanonicalErrorKind, Written};

/// An object being written. It is small because serde moves it about. Positions are of the buffer and of the writer's
/// stack of members; the limit on a form's size keeps both far below the range of a `u32`.
#[derive(Debug)]
pub(super) struct Object {
    /// Where its first byte after the bracket is.
    start: u32,
    /// Its first member in the writer's stack.
    first: u32,
    /// The member begun last, in the same stack.
    last: u32,
    depth: u8,
    sorted: bool,
    /// The first byte of the name given last.
    lead: u8,
}

/// A member in the buffer: its bytes from the name's opening quote to the end of the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    start: u32,
    name_end: u32,
    end: u32,
    /// Where in the text it was read from, or the largest number.
    position: u32,
    /// Whether the name has escapes, so that its bytes are not yet what is compared.
    escaped: bool,
}

impl Member {
    #[inline]
    fn new(start: usize, name_end: usize, escaped: bool, position: u32) -> Self {
        Self {
            start: start as u32,
            name_end: name_end as u32,
            end: name_end as u32,
            position,
            escaped,
        }
    }
}

impl CanonicalWriter {
    #[inline]
    pub(super) fn open_object(&mut self) -> Result<Object, CanonicalError> {
        self.open(b'{')?;
        let first = self.members.len() as u32;
        Ok(Object {
            start: self.buffer.len() as u32,
            first,
            last: first,
            depth: self.depth,
            sorted: true,
            lead: 0,
        })
    }

    /// Writes a name; a value is due after it.
    #[inline]
    pub(super) fn open_member(&mut self, object: &mut Object, name: &str) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("a member was begun before the last one was written to its end"));
        }
        if self.members.len() > object.first as usize {
            self.buffer.push(b',');
        }
        let start = self.buffer.len();
        let escaped = self.quoted(name)?;
        let name_end = self.buffer.len();
        self.buffer.push(b':');
        let lead = name.as_bytes().first().copied().unwrap_or(b'"');
        self.begun(object, start, name_end, escaped, lead)
    }

    /// Writes a name as generated code has it, `,"name":` without escapes; a value is due after it.
    #[inline]
    pub(super) fn open_written(&mut self, object: &mut Object, written: &'static str) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("a member was begun before the last one was written to its end"));
        }
        let written = written.as_bytes();
        debug_assert!(
            matches!(written, [b',', b'"', name @ .., b'"', b':'] if is_plain(name)),
            "generated code writes the name itself"
        );
        let comma = usize::from(self.members.len() > object.first as usize);
        let start = self.buffer.len() + comma;
        self.buffer
            .extend_from_slice(written.get(1 - comma..).unwrap_or_default());
        let name_end = self.buffer.len() - 1;
        let lead = written.get(2).copied().unwrap_or(b'"');
        self.begun(object, start, name_end, false, lead)
    }

    #[inline]
    fn begun(&mut self, object: &mut Object, start: usize, name_end: usize, escaped: bool, lead: u8) -> Written {
        let before = std::mem::replace(&mut object.lead, lead);
        if object.sorted && !is_plainly_less(before, lead) {
            self.place(object, start, name_end, escaped)?;
        }
        object.last = self.members.len() as u32;
        self.members.push(Member::new(start, name_end, escaped, self.position));
        self.vacant = true;
        Ok(())
    }

    /// Sees whether a member stands in order after the one before it.
    fn place(&self, object: &mut Object, start: usize, name_end: usize, escaped: bool) -> Written {
        let member = &Member::new(start, name_end, escaped, self.position);
        if let Some(last) = self.members[object.first as usize..].last() {
            match self.compare(last, member) {
                Ordering::Less => {}
                Ordering::Equal => return Err(self.duplicate(member)),
                Ordering::Greater => object.sorted = false,
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn close_member(&mut self, object: &Object) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse("no value was written for the member"));
        }
        if let Some(member) = self.members.last_mut() {
            member.end = self.buffer.len() as u32;
        }
        Ok(())
    }

    /// Takes back the member just begun.
    pub(super) fn abandon_member(&mut self, object: &Object) {
        if let Some(member) = self.members.pop() {
            let comma = usize::from(self.members.len() > object.first as usize);
            self.buffer.truncate(member.start as usize - comma);
        }
        self.vacant = false;
    }

    #[inline]
    pub(super) fn close_object(&mut self, object: &Object) -> Written {
        if self.vacant || self.depth != object.depth {
            return Err(misuse(
                "an object was closed before its last member was written to its end",
            ));
        }
        if !object.sorted {
            self.sort(object)?;
        }
        self.members.truncate(object.first as usize);
        self.close(b'}');
        self.check_size(0)
    }

    pub(super) fn is_empty(&self, object: &Object) -> bool {
        self.members.len() == object.first as usize
    }

    /// Returns the name of the object's member begun last, for the path of an error.
    pub(super) fn last_name(&self, object: &Object) -> String {
        self.members
            .get(object.last as usize)
            .map(|member| self.name_of(member))
            .unwrap_or_default()
    }

    fn sort(&mut self, object: &Object) -> Written {
        let start = object.start as usize;
        // Out of the way, to be compared by the buffer that is beside them.
        let mut all = std::mem::take(&mut self.members);
        let members = &mut all[object.first as usize..];
        members.sort_by(|a, b| self.compare(a, b));
        if let Some(pair) = members.windows(2).find(|pair| self.compare(&pair[0], &pair[1]).is_eq()) {
            let error = self.duplicate(&pair[1]).within_member(&self.name_of(&pair[1]));
            self.members = all;
            return Err(error);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(&self.buffer[start..]);
        self.buffer.truncate(start);
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.buffer.push(b',');
            }
            self.buffer
                .extend_from_slice(&scratch[member.start as usize - start..member.end as usize - start]);
        }
        self.scratch = scratch;
        self.members = all;
        Ok(())
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
        &self.buffer[member.start as usize + 1..member.name_end as usize - 1]
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
            NOWHERE => error,
            position => error.at(position as usize),
        }
    }
}

/// Whether the first characters, both ASCII and neither an escape nor the end of the name, tell already that a name is
/// less than another.
#[inline]
fn is_plainly_less(left: u8, right: u8) -> bool {
    left < right && left > b'"' && right < 0x80 && left != b'\\' && right != b'\\'
}

/// The position of a member that was not read from text.
pub(super) const NOWHERE: u32 = u32::MAX;

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
