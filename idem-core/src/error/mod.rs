//! What can stop a call, and what may be done about it.

mod kind;

pub use kind::ErrorKind;

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::ledger::LedgerRef;
use crate::record::Outcome;

type Source = Box<dyn StdError + Send + Sync + 'static>;

/// An error of idem: opaque, with a [`kind`](Error::kind) to branch on.
///
/// Its text says what went wrong and what to do instead; the cause is in
/// [`source`](StdError::source).
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Source>,
    retry: Retry,
    retry_after: Option<Duration>,
    outcome: Option<Outcome>,
    entry: Option<LedgerRef>,
}

/// Whether the same call may be sent again, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Sending it again gives the same error.
    Never,
    /// The caller may send it again later.
    Later,
    /// The database undid the transaction; it may be run again at once.
    Transaction,
    /// The connection broke before COMMIT was sent, so nothing is committed. The transaction may be run
    /// again; until the database has noticed, the claim may still be held.
    ConnectionLost,
    /// COMMIT was sent and its answer lost: the next claim tells whether it happened.
    CommitUnknown,
}

impl Error {
    /// Creates an error of a kind.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retry = if kind == ErrorKind::InFlight {
            Retry::Later
        } else {
            Retry::Never
        };
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            retry,
            retry_after: None,
            outcome: None,
            entry: None,
        }))
    }

    /// An error of kind [`Store`](ErrorKind::Store): the storage failed to do `what`.
    ///
    /// It counts as retryable; narrow that with [`with_retry`](Self::with_retry).
    pub fn store(what: impl fmt::Display, source: impl Into<Source>) -> Self {
        Self::new(ErrorKind::Store, format!("could not {what}"))
            .with_source(source)
            .with_retry(Retry::Later)
    }

    /// An error of kind [`Misuse`](ErrorKind::Misuse) with a cause.
    pub(crate) fn misuse(what: impl fmt::Display, source: impl Into<Source>) -> Self {
        Self::new(ErrorKind::Misuse, what.to_string()).with_source(source)
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says who may send the call again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Says when to send the call again.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    pub(crate) fn with_outcome(mut self, outcome: Option<Outcome>) -> Self {
        self.0.outcome = outcome;
        self
    }

    pub(crate) fn with_entry(mut self, entry: LedgerRef) -> Self {
        self.0.entry = Some(entry);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call may succeed when it is sent again, under the same key.
    ///
    /// True for [`InFlight`](ErrorKind::InFlight) and for most failures of the storage.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retry != Retry::Never
    }

    /// Who may send the call again.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// How long to wait before sending the call again, if that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The entry of the ledger that stands in the way: the key's own effect, or the holder of the
    /// `once_per` place.
    #[must_use]
    pub fn entry(&self) -> Option<&LedgerRef> {
        self.0.entry.as_ref()
    }

    /// The recorded outcome: of a declined effect its final error, of a revoked one its result.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.0.outcome.as_ref()
    }

    /// The value of a final error, if this is one and its value fits `T`.
    #[must_use]
    pub fn declined<T: DeserializeOwned>(&self) -> Option<T> {
        if self.kind() != ErrorKind::Declined {
            return None;
        }
        self.0.outcome.as_ref()?.decode()?.ok()
    }

    /// The error that the effect returned, if this is of kind [`Effect`](ErrorKind::Effect) and of
    /// that type.
    #[must_use]
    pub fn effect_ref<E: StdError + 'static>(&self) -> Option<&E> {
        if self.kind() != ErrorKind::Effect {
            return None;
        }
        self.0.source.as_deref()?.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("retry", &self.0.retry);
        if let Some(entry) = &self.0.entry {
            out.field("entry", entry);
        }
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
