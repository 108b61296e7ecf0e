use std::time::Duration;

use crate::clock::Timestamp;
use crate::key::{Fingerprint, IdempotencyKey};
use crate::record::{Outcome, OwnerToken, Recovery};

/// What a claimant brings.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What the request asks for.
    pub fingerprint: Fingerprint,
    /// The token chosen for this attempt.
    pub owner: OwnerToken,
    /// `None` in transactional mode; the lease and what may follow its end in leased mode.
    pub lease: Option<(Duration, Recovery)>,
    /// How long the outcome is replayed, from its completion on.
    pub retention: Duration,
    /// What becomes of the record of an effect then; without one it counts as absent.
    pub tombstone: Option<Box<Tombstone>>,
    /// The caller's step.
    pub step_id: Option<String>,
    /// The caller's run.
    pub run_id: Option<String>,
}

impl Claim {
    /// How long the record of an effect is kept that happens under this claim. That of a final error goes with its
    /// [`retention`](Self::retention), since nothing has happened that could happen twice.
    #[must_use]
    pub fn kept(&self) -> Duration {
        let lasts = self
            .tombstone
            .as_ref()
            .map_or(Duration::ZERO, |tombstone| tombstone.lasts);
        self.retention.saturating_add(lasts)
    }
}

/// What a claimant wants to be told of an effect whose outcome is not replayed any more.
#[derive(Clone, Debug)]
pub struct Tombstone {
    /// How long it is told, after the retention.
    pub lasts: Duration,
    /// The key that is claimed, by which the effect is named then.
    pub key: IdempotencyKey,
    /// The action by which it is named.
    pub action: String,
}

/// What happens to a record.
#[derive(Clone, Debug)]
pub enum Event {
    /// An attempt wants to run.
    Claim(Claim),
    /// The owner records the outcome.
    Complete {
        /// The token of the claim.
        owner: OwnerToken,
        /// What repeats will get.
        outcome: Outcome,
        /// How long it is kept, from now on.
        retention: Duration,
    },
    /// The attempt goes on or ends without an outcome of its own, or its outcome is settled by hand.
    Settle(Settlement),
}

/// What becomes of an attempt or of an outcome beside its completion.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// The owner does not know whether the effect happened.
    Fail {
        /// The token of the claim.
        owner: OwnerToken,
    },
    /// The owner knows that nothing happened.
    Release {
        /// The token of the claim.
        owner: OwnerToken,
        /// How long the counters are kept, from now on.
        retention: Duration,
    },
    /// The owner still works and asks for more time.
    Renew {
        /// The token of the claim.
        owner: OwnerToken,
        /// How long the lease lasts, from now on.
        lease: Duration,
    },
    /// A person or a reconciliation says what became of an unknown outcome.
    Resolve {
        /// The attempt that was looked into; a verdict about another one changes nothing.
        attempt: AttemptId,
        /// The outcome that stands, or `None` if the effect did not happen.
        outcome: Option<Outcome>,
        /// A new token, so that the old owner is fenced out.
        owner: OwnerToken,
        /// How long the resolved record is kept, from now on.
        retention: Duration,
    },
    /// An effect that happened was undone.
    Revoke {
        /// The generation that the caller saw and has undone.
        expected_generation: u32,
        /// A new token, by which this very revocation is known when it is sent again.
        owner: OwnerToken,
        /// How long the revoked record is kept, from now on.
        retention: Duration,
    },
    /// A revoked effect may happen once more, in the next generation.
    Reopen {
        /// The generation that the caller saw revoked.
        expected_generation: u32,
        /// The `once_per` place that the effect had, which no other key may hold now.
        place: Option<[u8; 32]>,
        /// A new token, so that no old owner can act on the new generation.
        owner: OwnerToken,
        /// How long the reopened record is kept, from now on.
        retention: Duration,
    },
}

impl Settlement {
    /// The `once_per` place that matters to the event.
    #[must_use]
    pub fn place(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Reopen { place, .. } => place.as_ref(),
            _ => None,
        }
    }
}

/// Names one attempt of a key, so that a verdict about it is not taken for one about another.
///
/// Attempts are counted anew when a record was forgotten; the moment of the first one tells the counts apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId {
    /// How often the effect was reopened, from 1.
    pub generation: u32,
    /// The attempt within the generation, from 1.
    pub attempt: u32,
    /// When the first of these attempts was claimed.
    pub since: Timestamp,
}
