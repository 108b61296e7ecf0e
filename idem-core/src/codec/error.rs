use std::error::Error as StdError;
use std::fmt;

type Source = Box<dyn StdError + Send + Sync + 'static>;

/// Why an outcome could not be encoded, or is not available any more.
///
/// Its text is shown to callers and in logs: it names the key or the codec that is missing and what to do, and
/// never a part of the outcome.
pub struct CodecError {
    message: String,
    source: Option<Source>,
}

impl CodecError {
    /// Creates an error from a text that reads on after "because": no capital letter, no full stop.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("CodecError");
        out.field("message", &self.message);
        if let Some(source) = &self.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl StdError for CodecError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
