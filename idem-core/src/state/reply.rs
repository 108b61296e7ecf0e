use std::time::Duration;

use crate::key::IdempotencyKey;
use crate::ledger::LedgerRef;
use crate::record::Outcome;

/// What the caller of an event is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The claim is the caller's: it runs the effect.
    Claimed {
        /// The generation it runs in.
        generation: u32,
        /// The number of this attempt.
        attempt: u32,
        /// Whether an earlier attempt may have had the effect: its lease ended, and this one took over. To a claim that is sent
        /// again it is said of every attempt but the first.
        took_over: bool,
    },
    /// The effect has an outcome.
    Replay(Outcome),
    /// Another attempt is running.
    InFlight {
        /// What is left of its lease, if it has one.
        lease_left: Option<Duration>,
    },
    /// The key is bound to another request.
    Mismatch,
    /// The effect may have happened; somebody has to say.
    OutcomeUnknown {
        /// The generation of the attempt whose outcome is unknown.
        generation: u32,
        /// Its number.
        attempt: u32,
    },
    /// The effect of this key happened, and its outcome is not replayed any more: the ledger holds it though the record is
    /// gone, or the record is no more than a [tombstone](super::Tombstone).
    AlreadyExecuted(LedgerRef),
    /// Another key holds the `once_per` place.
    PlaceTaken(LedgerRef),
    /// The effect was done and undone.
    Revoked(Option<Outcome>),
    /// The effect of this key is on record under another one, and nothing was claimed: claim that one.
    Aliased(IdempotencyKey),
    /// The event took effect, now or when it was sent before.
    Done,
    /// The token does not own the claim any more; nothing changed.
    Stale,
    /// The record is not in a status that allows the event; nothing changed.
    Refused(&'static str),
}

/// A stored record that no sequence of events can have produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// A completed record has no outcome.
    #[error("a completed record has no outcome")]
    NoOutcome,
    /// An alias does not name the key that it stands for.
    #[error("an alias does not name the key that it stands for")]
    NoAlias,
    /// A leased record has no recovery.
    #[error("a leased record does not say how to recover")]
    NoRecovery,
    /// Its fingerprint was made by a version that this build cannot compare with.
    #[error("the record's fingerprint has version {found}, this build makes version {own}")]
    FingerprintVersion {
        /// The stored version.
        found: u8,
        /// The version of this build.
        own: u8,
    },
}
