//! The append-only account of what was decided.

mod detail;
mod entry;

pub(crate) use detail::find_basis;

pub use detail::Detail;
pub use entry::{Entry, EntryKind, Reason};

use crate::clock::Timestamp;
use crate::key::{Fingerprint, IdempotencyKey};

/// Names one entry of the ledger, for errors and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRef {
    /// The key whose entry it is.
    pub key: String,
    /// The generation of the effect.
    pub generation: u32,
    /// The action.
    pub action: String,
    /// The step that the attempt named.
    pub step_id: Option<String>,
    /// The run that the attempt named.
    pub run_id: Option<String>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// The newest fact that the ledger holds about a key.
#[derive(Clone, Debug)]
pub struct Standing {
    /// [`Executed`](EntryKind::Executed), [`Revoked`](EntryKind::Revoked), [`Reopened`](EntryKind::Reopened) or
    /// [`Aliased`](EntryKind::Aliased).
    pub kind: EntryKind,
    /// The fingerprint of the effect.
    pub fingerprint: Fingerprint,
    /// The entry.
    pub entry: LedgerRef,
    /// The key that an [alias](EntryKind::Aliased) stands for, from its references by [`alias_of`].
    pub alias: Option<IdempotencyKey>,
}

impl EntryKind {
    /// Whether an entry of this kind is a fact about its key that a claim has to find: see [`Standing::kind`].
    #[must_use]
    pub const fn stands(self) -> bool {
        matches!(self, Self::Executed | Self::Revoked | Self::Reopened | Self::Aliased)
    }
}

/// Reads the key that an [alias](EntryKind::Aliased) stands for from the references of its entry.
#[must_use]
pub fn alias_of(references: &str) -> Option<IdempotencyKey> {
    let pairs: Vec<(String, String)> = serde_json::from_str(references).ok()?;
    let (_, key) = pairs.iter().find(|(system, _)| system == IDEM)?;
    IdempotencyKey::parse(key).ok()
}

/// The references of an alias for `key`.
pub(crate) fn alias_for(key: &IdempotencyKey) -> Option<String> {
    serde_json::to_string(&[(IDEM, key.as_str())]).ok()
}

const IDEM: &str = "idem";

/// What the ledger says about a claim, read in the statement that claims.
#[derive(Clone, Debug, Default)]
pub struct LedgerView {
    /// The newest fact about the key itself.
    pub own: Option<Standing>,
    /// The entry of another key that holds the `once_per` place of this claim.
    pub place: Option<LedgerRef>,
}
