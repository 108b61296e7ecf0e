//! Several forms in one buffer.

use std::ops::Range;

use super::writer::CanonicalWriter;
use super::{CanonicalError, Mode};

impl CanonicalWriter {
    /// Creates a writer of several forms: each between [`begin`](Self::begin) and [`end`](Self::end), with
    /// [`raw`](Self::raw) text around them.
    pub(crate) fn of_forms() -> Self {
        // Most inputs fit, and then nothing is moved.
        let mut writer = Self::with_capacity(Mode::Key, 1024);
        writer.members.reserve(16);
        writer.vacant = false;
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
}
