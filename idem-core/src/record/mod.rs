//! What is kept about one key.

mod outcome;
mod owner;

pub(crate) use outcome::{DISCARDED, IDENTITY};
pub use outcome::{Outcome, OutcomeKind};
pub use owner::OwnerToken;

use std::time::Duration;

use crate::clock::Timestamp;
use crate::key::Fingerprint;
use crate::state::{AttemptId, Status};

/// Whether a claim is committed together with its effect or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Claim, effect, outcome and ledger entry are one transaction.
    Transactional,
    /// The claim is committed first and guarded by a lease while an outside effect runs.
    Leased,
}

/// What a later attempt may do when a lease has ended without an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// The downstream enforces the key for this long, counted from the first attempt: within it the
    /// next attempt runs, beyond it the outcome is unknown.
    Rerun {
        /// How long the downstream remembers the key, less the longest time that can pass between a claim and
        /// the arrival of its call (pauses of the process included): an attempt that is claimed within it may
        /// still be on its way when it ends.
        remembered_for: Duration,
    },
    /// Nothing runs again until a person or a reconciliation has said what happened.
    Hold,
}

impl Recovery {
    /// The stricter of two: [`Hold`](Recovery::Hold) over everything, else the shorter memory.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rerun { remembered_for: a }, Self::Rerun { remembered_for: b }) => Self::Rerun {
                remembered_for: a.min(b),
            },
            _ => Self::Hold,
        }
    }
}

/// The stored state of one (tenant, key).
///
/// A record changes by [`transition`](crate::state::transition) alone.
#[derive(Clone, Debug)]
pub struct Record {
    /// What the claiming request asked for.
    pub fingerprint: Fingerprint,
    /// Where the record stands.
    pub status: Status,
    /// The mode of the claiming attempt.
    pub mode: Mode,
    /// The recovery of the claiming attempt; `None` in transactional mode.
    pub recovery: Option<Recovery>,
    /// Who owns the claim: chosen by the claimant, compared by every later step.
    pub owner: OwnerToken,
    /// When the lease ends; `None` in transactional mode and where no one works.
    pub lease_until: Option<Timestamp>,
    /// How many attempts this generation has seen, from 1 at the first claim.
    pub attempt: u32,
    /// Counts the times the effect was reopened, from 1.
    pub generation: u32,
    /// The caller's step, as it named it.
    pub step_id: Option<String>,
    /// The caller's run, as it named it.
    pub run_id: Option<String>,
    /// What is replayed; present in a completed and in a revoked record.
    pub outcome: Option<Outcome>,
    /// When the first attempt of this generation was claimed.
    pub created_at: Timestamp,
    /// When the outcome was recorded.
    pub completed_at: Option<Timestamp>,
    /// From when on the record counts as absent, if it is completed, failed or revoked.
    pub expires_at: Option<Timestamp>,
}

impl Record {
    /// The attempt that made the record what it is.
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        AttemptId {
            generation: self.generation,
            attempt: self.attempt,
            since: self.created_at,
        }
    }

    /// Whether the record says no more than that the effect is on record under another key.
    #[must_use]
    pub fn is_alias(&self) -> bool {
        self.status == Status::Completed
            && self
                .outcome
                .as_ref()
                .is_some_and(|outcome| outcome.kind() == OutcomeKind::Alias)
    }

    /// Whether the effect happened and its success is on record. A final error is an outcome too, but nothing was done by it.
    #[must_use]
    pub fn happened(&self) -> bool {
        let outcome = self.outcome.as_ref();
        outcome.is_some_and(|outcome| outcome.kind() == OutcomeKind::Success)
    }

    /// Whether the record counts as absent at `now`.
    ///
    /// Claims in flight and unknown outcomes never expire.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.status.expires() && self.expires_at.is_some_and(|end| end <= now)
    }
}
