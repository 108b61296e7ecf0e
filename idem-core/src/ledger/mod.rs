//! The append-only account of what was decided.

mod detail;
mod entry;

pub(crate) use detail::find_basis;

pub use detail::Detail;
pub use entry::{Entry, EntryKind, Reason};

use crate::clock::Timestamp;
use crate::key::Fingerprint;

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
    /// [`Executed`](EntryKind::Executed), [`Revoked`](EntryKind::Revoked) or
    /// [`Reopened`](EntryKind::Reopened).
    pub kind: EntryKind,
    /// The fingerprint of the effect.
    pub fingerprint: Fingerprint,
    /// The entry.
    pub entry: LedgerRef,
}

/// What the ledger says about a claim, read in the statement that claims.
#[derive(Clone, Debug, Default)]
pub struct LedgerView {
    /// The newest fact about the key itself.
    pub own: Option<Standing>,
    /// The entry of another key that holds the `once_per` place of this claim.
    pub place: Option<LedgerRef>,
}
