use std::time::Duration;

use crate::key::Fingerprint;
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
    /// How long the outcome is kept.
    pub retention: Duration,
    /// The caller's step.
    pub step_id: Option<String>,
    /// The caller's run.
    pub run_id: Option<String>,
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
    /// The attempt goes on or ends without an outcome of its own.
    Settle(Settlement),
    /// A completed effect was undone.
    Revoke {
        /// How long the revoked record is kept, from now on.
        retention: Duration,
    },
    /// A revoked effect may happen once more, in the next generation.
    Reopen {
        /// The generation that the caller saw revoked.
        expected_generation: u32,
        /// A new token, so that no old owner can act on the new generation.
        owner: OwnerToken,
        /// How long the reopened record is kept, from now on.
        retention: Duration,
    },
}

/// What becomes of an attempt beside its completion.
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
        /// The outcome that stands, or `None` if the effect did not happen.
        outcome: Option<Outcome>,
        /// A new token, so that the old owner is fenced out.
        owner: OwnerToken,
        /// How long the resolved record is kept, from now on.
        retention: Duration,
    },
}
