use std::time::Duration;

use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::{Entry, LedgerView};
use crate::record::{Outcome, OwnerToken, Record};
use crate::state::Claim;

/// The digest of a `once_per` place.
pub type PlaceDigest = [u8; 32];

/// A claim as a store gets it.
#[derive(Clone, Debug)]
pub struct StoreClaim {
    /// The key that is claimed.
    pub key: IdempotencyKey,
    /// What the claimant brings.
    pub claim: Claim,
    /// The `once_per` place that the effect will take.
    pub place: Option<PlaceDigest>,
    /// A second key of the same effect, which becomes an alias of the first.
    pub alias: Option<Box<Alias>>,
}

/// A key that is claimed together with another and from then on stands for it.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The key.
    pub key: IdempotencyKey,
    /// The claim of it, which has no lease.
    pub claim: Claim,
    /// The entry that says what it stands for.
    pub entry: Entry,
}

/// What a store found where a claim was not won.
#[derive(Clone, Debug)]
pub struct View {
    /// The committed record.
    pub record: Option<Record>,
    /// What the ledger says.
    pub ledger: LedgerView,
    /// The storage's clock.
    pub now: Timestamp,
}

impl View {
    /// The key under which the effect is on record, where the one that was looked at is an [`Alias`] of it.
    #[must_use]
    pub fn alias(&self) -> Option<IdempotencyKey> {
        let live = self.record.as_ref().filter(|record| !record.is_expired(self.now));
        match live {
            Some(record) => record.outcome.as_ref().and_then(Outcome::alias_of),
            None => self.ledger.own.as_ref().and_then(|own| own.alias.clone()),
        }
    }
}

/// An outside effect that has no outcome yet: its attempt runs, or ended without telling.
#[derive(Clone, Debug)]
pub struct OpenClaim {
    /// The key.
    pub key: IdempotencyKey,
    /// Its record, in flight or unknown.
    pub record: Record,
    /// The storage's clock.
    pub now: Timestamp,
}

/// A completion: the outcome of a claim and, where the call keeps the ledger, the entry that accounts for it.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The key that was claimed.
    pub key: IdempotencyKey,
    /// The generation in which the claim was won.
    pub generation: u32,
    /// The attempt as which it was won.
    pub attempt: u32,
    /// The token of the claim.
    pub owner: OwnerToken,
    /// What repeats will get.
    pub outcome: Outcome,
    /// How long it is kept, a [tombstone](crate::Tombstone) included.
    pub retention: Duration,
    /// The entry, with the same key, generation and attempt; `None` in a call without ledger, which records the outcome alone.
    pub entry: Option<Entry>,
}

/// What became of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// Record and ledger hold the outcome, once the transaction commits.
    Done,
    /// The claim is not this owner's any more; nothing was written.
    Stale,
    /// Another key took the `once_per` place meanwhile; the transaction has to be rolled back.
    PlaceTaken,
}
