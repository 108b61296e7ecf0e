use std::fmt::Write as _;

use super::Detail;
use crate::key::{Fingerprint, IdempotencyKey};

/// What an entry of the ledger says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A leased effect was about to be sent.
    Intended,
    /// The effect happened.
    Executed,
    /// The effect ended in a final error.
    Declined,
    /// An attempt was turned away; see [`RefusalReason`].
    Refused,
    /// It became unknown whether the effect happened.
    Unknown,
    /// Somebody said what became of an unknown outcome.
    Resolved,
    /// The effect was undone.
    Revoked,
    /// The undone effect may happen once more.
    Reopened,
}

impl EntryKind {
    /// The word that stores keep.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Executed => "executed",
            Self::Declined => "declined",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Resolved => "resolved",
            Self::Revoked => "revoked",
            Self::Reopened => "reopened",
        }
    }

    /// The kind of a stored word; `None` if this build does not know it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        use EntryKind::{Declined, Executed, Intended, Refused, Reopened, Resolved, Revoked, Unknown};
        [
            Intended, Executed, Declined, Refused, Unknown, Resolved, Revoked, Reopened,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Why an attempt was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The key is bound to another request.
    Mismatch,
    /// Another key holds the `once_per` place.
    OncePer,
    /// The effect was done and undone.
    Revoked,
}

impl RefusalReason {
    /// The word that stores keep.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::OncePer => "once_per",
            Self::Revoked => "revoked",
        }
    }
}

/// An entry to be appended.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: IdempotencyKey,
    /// The generation of the effect.
    pub generation: u32,
    /// The attempt within the generation.
    pub attempt: u32,
    /// What the entry says.
    pub kind: EntryKind,
    /// Why, if the kind is [`Refused`](EntryKind::Refused).
    pub reason: Option<RefusalReason>,
    /// The action.
    pub action: String,
    /// The fingerprint of the attempt.
    pub fingerprint: Fingerprint,
    /// The caller's step.
    pub step_id: Option<String>,
    /// The caller's run.
    pub run_id: Option<String>,
    /// SHA-256 of the canonical payload.
    pub payload_digest: [u8; 32],
    /// SHA-256 of the outcome's bytes.
    pub outcome_digest: Option<[u8; 32]>,
    /// The `once_per` place that the entry takes or, if it is a refusal, asked for.
    pub place: Option<[u8; 32]>,
    /// What the entry says in clear, kept beside it.
    pub detail: Detail,
}

impl Entry {
    /// What sets entries of one key, generation and kind apart; unique together with them.
    ///
    /// Empty where there can be one: an effect is executed once in a generation. A refusal is
    /// recorded once for each reason and fingerprint, so that repeats do not grow the ledger.
    #[must_use]
    pub fn slot(&self) -> String {
        match (self.kind, self.reason) {
            (EntryKind::Refused, reason) => {
                let mut slot = reason.map_or("", RefusalReason::as_str).to_owned();
                slot.push(':');
                for byte in self.fingerprint.as_bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(slot, "{byte:02x}");
                }
                slot
            }
            (EntryKind::Executed | EntryKind::Revoked | EntryKind::Reopened, _) => String::new(),
            // A declined outcome may expire and be declined anew; leased attempts come more than once.
            (EntryKind::Intended | EntryKind::Declined | EntryKind::Unknown | EntryKind::Resolved, _) => {
                let mut slot = String::with_capacity(32);
                for byte in self.detail.salt() {
                    let _ = write!(slot, "{byte:02x}");
                }
                slot
            }
        }
    }
}
