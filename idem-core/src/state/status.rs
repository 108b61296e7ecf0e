/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Claimed; the owner holds the token and, in leased mode, a lease.
    InFlight,
    /// The outcome is recorded, a success or a final error; repeats replay it.
    Completed,
    /// Nothing happened in this generation. In generation 1 it binds nothing but its counters; in a
    /// later generation the fingerprint still binds.
    Failed,
    /// An outside effect may have happened; nothing runs until it is resolved.
    Unknown,
    /// Done and then undone; the ledger keeps both facts.
    Revoked,
}

impl Status {
    /// The number that stores keep.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::InFlight => 0,
            Self::Completed => 1,
            Self::Failed => 2,
            Self::Unknown => 3,
            Self::Revoked => 4,
        }
    }

    /// The status of a stored number; `None` if this build does not know it.
    #[must_use]
    pub const fn from_code(code: i16) -> Option<Self> {
        Some(match code {
            0 => Self::InFlight,
            1 => Self::Completed,
            2 => Self::Failed,
            3 => Self::Unknown,
            4 => Self::Revoked,
            _ => return None,
        })
    }

    /// Whether records in this status expire at all.
    #[must_use]
    pub const fn expires(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Revoked)
    }
}
