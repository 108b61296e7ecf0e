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
    /// An attempt was turned away; see [`Reason`].
    Refused,
    /// It became unknown whether the effect happened.
    Unknown,
    /// Somebody said what became of an unknown outcome.
    Resolved,
    /// The effect was undone.
    Revoked,
    /// The undone effect may happen once more.
    Reopened,
    /// The effect of this key is on record under another key, which the references name.
    Aliased,
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
            Self::Aliased => "aliased",
        }
    }

    /// The kind of a stored word; `None` if this build does not know it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        use EntryKind::{Aliased, Declined, Executed, Intended, Refused, Reopened, Resolved, Revoked, Unknown};
        [
            Intended, Executed, Declined, Refused, Unknown, Resolved, Revoked, Reopened, Aliased,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Why an entry says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The key is bound to another request.
    Mismatch,
    /// Another key holds the `once_per` place.
    OncePer,
    /// The effect was done and undone.
    Revoked,
    /// The attempt is known to have had no effect.
    NothingHappened,
    /// The attempt is known to have had its effect.
    Happened,
}

impl Reason {
    /// The word that stores keep.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::OncePer => "once_per",
            Self::Revoked => "revoked",
            Self::NothingHappened => "nothing_happened",
            Self::Happened => "happened",
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
    /// Why, where the kind does not say.
    pub reason: Option<Reason>,
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
    /// Whether the entry frees the `once_per` place that the key holds, if it holds one.
    pub frees_place: bool,
    /// Who acted, where a person or a reconciliation did.
    pub actor: Option<String>,
    /// What other systems call the effect, as JSON: pairs of system and id. An alias names the key that it stands for, as
    /// the id in the system `idem`.
    pub references: Option<String>,
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
                let mut slot = reason.map_or("", Reason::as_str).to_owned();
                slot.push(':');
                slot.push_str(&hex(self.fingerprint.as_bytes()));
                slot
            }
            (EntryKind::Executed | EntryKind::Revoked | EntryKind::Reopened | EntryKind::Aliased, _) => String::new(),
            // One for each attempt, however often its claim is sent. Attempts are counted anew when a record has
            // expired, and the new one has to take its place anew.
            (EntryKind::Intended, _) => format!("{}:{}", self.attempt, hex(self.detail.salt())),
            // One for each attempt, however often its outcome is asked for.
            (EntryKind::Unknown, _) => self.attempt.to_string(),
            // A final error may expire and be recorded anew; an outcome may be resolved in every attempt.
            (EntryKind::Declined | EntryKind::Resolved, _) => hex(self.detail.salt()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
