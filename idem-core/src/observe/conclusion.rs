use crate::error::ErrorKind;

/// How a call ended, in one word: what a dashboard counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conclusion {
    /// The effect ran in this call.
    Executed,
    /// The same, of an outside effect after its first attempt: that one was taken over, or had ended without effect.
    Takeover,
    /// The effect ran before, and its result was replayed.
    Replayed,
    /// The same, after another attempt was waited for.
    Waited,
    /// Another attempt is running.
    InFlight,
    /// The key is bound to another request.
    Mismatch,
    /// A final error, now or before.
    Declined,
    /// Nothing was committed, or what stands is not what was asked for; also a call that was dropped before its end.
    Failed,
    /// An outside effect may have happened.
    Unknown,
    /// The effect was done and undone.
    Revoked,
    /// The storage failed.
    StoreError,
}

impl Conclusion {
    /// The value of the label `outcome`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(idem_core::Conclusion::StoreError.as_str(), "store_error");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Takeover => "takeover",
            Self::Replayed => "replayed",
            Self::Waited => "waited",
            Self::InFlight => "in_flight",
            Self::Mismatch => "mismatch",
            Self::Declined => "declined",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Revoked => "revoked",
            Self::StoreError => "store_error",
        }
    }

    pub(crate) fn of_error(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InFlight => Self::InFlight,
            ErrorKind::Mismatch => Self::Mismatch,
            ErrorKind::Declined => Self::Declined,
            ErrorKind::OutcomeUnknown => Self::Unknown,
            ErrorKind::Revoked => Self::Revoked,
            ErrorKind::Store => Self::StoreError,
            ErrorKind::AlreadyExecuted
            | ErrorKind::ResultUnavailable
            | ErrorKind::InvalidKey
            | ErrorKind::Effect
            | ErrorKind::Misuse
            | ErrorKind::LostClaim
            | ErrorKind::Schema
            | ErrorKind::Corrupt => Self::Failed,
        }
    }
}
