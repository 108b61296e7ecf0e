//! Several forms in one buffer, hashed as they are written.

use std::ops::Range;

use super::writer::CanonicalWriter;
use super::{CanonicalError, Mode};
use crate::key::Digest;
use crate::key::digest::{BLOCK, Blocks};

impl CanonicalWriter {
    /// Creates a writer of several forms: each between [`begin`](Self::begin) and [`end`](Self::end), with
    /// [`raw`](Self::raw) text around them. What is written until [`digest`](Self::digest) is one stream.
    pub(crate) fn of_forms() -> Self {
        // Most inputs fit, and then nothing is moved.
        let mut writer = Self::with_capacity(Mode::Key, 1024);
        writer.members.reserve(16);
        writer.vacant = false;
        writer.stream = Some(Blocks::new());
        writer
    }

    /// Begins a form; `complete` refuses `None` in it.
    pub(crate) fn begin(&mut self, mode: Mode, complete: bool) {
        self.mode = mode;
        self.complete = complete;
        self.base = self.buffer.len();
        self.depth = 0;
        self.vacant = true;
    }

    /// Ends a form and says where it is.
    pub(crate) fn end(&mut self) -> Result<Range<usize>, CanonicalError> {
        self.check_end()?;
        Ok(self.base..self.buffer.len())
    }

    /// Takes back the form that was begun.
    pub(crate) fn abandon(&mut self) {
        self.buffer.truncate(self.base);
        self.members.clear();
        self.depth = 0;
        self.vacant = false;
    }

    /// Writes what stands between two forms.
    #[inline]
    pub(crate) fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn into_written(self) -> Vec<u8> {
        self.buffer
    }

    /// Ends the stream: returns the digest of all that was written so far.
    pub(crate) fn digest(&mut self) -> Digest {
        let stream = self.stream.take().unwrap_or_else(Blocks::new);
        stream.finish(&self.buffer)
    }

    /// Hashes what has been written and will not move. A processor hashes one block while it writes the next, so that
    /// writing costs little beside hashing.
    #[inline]
    pub(super) fn feed(&mut self) {
        if let Some(stream) = &mut self.stream
            && self.buffer.len() - stream.hashed() >= BLOCK
        {
            stream.follow(&self.buffer);
        }
    }

    /// Begins the stream anew when something from `start` on was hashed and is about to move. Generated code never
    /// gets here: it gives its members in order.
    pub(super) fn unfeed(&mut self, start: usize) {
        if let Some(stream) = &mut self.stream
            && stream.hashed() > start
        {
            *stream = Blocks::new();
        }
    }
}
