//! What somebody does by hand: verdicts about unknown outcomes, revocations, reopenings.

use super::transition::{complete, release};
use super::{AttemptId, Reply, Status};
use crate::clock::Timestamp;
use crate::ledger::{EntryKind, LedgerRef, LedgerView, Standing};
use crate::record::{Mode, Outcome, OwnerToken, Record};

pub(super) fn resolve(
    record: Option<Record>,
    about: AttemptId,
    outcome: Option<Outcome>,
    owner: OwnerToken,
    now: Timestamp,
    expires_at: Timestamp,
) -> (Option<Record>, Reply) {
    let Some(mut record) = record else {
        return (None, Reply::Refused("there is no record of this key"));
    };
    let unknown = match (record.status, record.lease_until) {
        (Status::Unknown, _) | (Status::InFlight, None) => true,
        (Status::InFlight, Some(end)) => end <= now,
        (Status::Completed | Status::Failed | Status::Revoked, _) => false,
    };
    if record.owner == owner {
        // This very resolution was sent before; its token is new.
        return (Some(record), Reply::Done);
    }
    if record.attempt_id() != about {
        return (
            Some(record),
            Reply::Refused("another attempt stands than the one that was named; look into that one"),
        );
    }
    if !unknown {
        let why = match record.status {
            Status::InFlight => "the attempt still runs, or its lease has not ended",
            _ => "the outcome of this key is not unknown",
        };
        return (Some(record), Reply::Refused(why));
    }
    record.owner = owner;
    match outcome {
        Some(outcome) => complete(&mut record, outcome, now, expires_at),
        None => release(&mut record, expires_at),
    }
    (Some(record), Reply::Done)
}

pub(super) fn revoke(
    record: Option<Record>,
    live: impl Fn(&Record) -> bool,
    ledger: &LedgerView,
    expected_generation: u32,
    owner: OwnerToken,
    now: Timestamp,
    expires_at: Timestamp,
) -> (Option<Record>, Reply) {
    let refused = |record, why| (record, Reply::Refused(why));
    match record {
        // This very revocation was sent before; its token is new.
        Some(record) if record.status == Status::Revoked && record.owner == owner => (Some(record), Reply::Done),
        // Also where it has expired: a clock that goes back would bring it to life again.
        Some(mut record)
            if record.status == Status::Completed && record.generation == expected_generation && record.happened() =>
        {
            record.status = Status::Revoked;
            record.owner = owner;
            record.expires_at = Some(expires_at);
            (Some(record), Reply::Done)
        }
        Some(record) if live(&record) => {
            let why = match record.status {
                Status::Revoked => REVOKED,
                Status::Completed if record.happened() => ANOTHER_GENERATION,
                _ => "only an effect that happened can be revoked",
            };
            refused(Some(record), why)
        }
        // The record is gone or counts as absent: the ledger tells what happened, and one is made of it.
        record => match &ledger.own {
            Some(Standing {
                kind: EntryKind::Executed,
                entry,
                fingerprint,
                ..
            }) if entry.generation == expected_generation => {
                let revoked = Record {
                    fingerprint: fingerprint.clone(),
                    status: Status::Revoked,
                    mode: Mode::Transactional,
                    recovery: None,
                    owner,
                    lease_until: None,
                    attempt: 0,
                    generation: expected_generation,
                    step_id: None,
                    run_id: None,
                    outcome: None,
                    created_at: now,
                    completed_at: None,
                    expires_at: Some(expires_at),
                };
                (Some(revoked), Reply::Done)
            }
            Some(Standing { kind, .. }) => {
                let why = match kind {
                    EntryKind::Executed => ANOTHER_GENERATION,
                    EntryKind::Revoked => REVOKED,
                    EntryKind::Aliased => "the effect is on record under another key",
                    _ => "the effect was reopened and has not happened since",
                };
                refused(record, why)
            }
            None => refused(record, "the ledger holds no effect of this key"),
        },
    }
}

const REVOKED: &str = "the effect is revoked already";
const ANOTHER_GENERATION: &str = "the effect stands in another generation than expected; look at that one";

pub(super) fn reopen(
    record: Option<Record>,
    live: impl Fn(&Record) -> bool,
    ledger: &LedgerView,
    expected_generation: u32,
    owner: OwnerToken,
    now: Timestamp,
    expires_at: Timestamp,
) -> (Option<Record>, Reply) {
    let reopened_before =
        |record: &Record| record.owner == owner && record.generation.checked_sub(1) == Some(expected_generation);
    if record.as_ref().is_some_and(reopened_before) {
        // This very reopening was sent before; its token is new.
        return (record, Reply::Done);
    }
    let current = record.as_ref().filter(|record| live(record));
    let revoked = match (current, &ledger.own) {
        (Some(record), _) => {
            (record.status == Status::Revoked).then(|| (record.generation, record.fingerprint.clone()))
        }
        (
            None,
            Some(Standing {
                kind: EntryKind::Revoked,
                entry,
                fingerprint,
                ..
            }),
        ) => Some((entry.generation, fingerprint.clone())),
        (None, _) => None,
    };
    let Some((generation, fingerprint)) = revoked else {
        return (record, Reply::Refused("only a revoked effect can be reopened"));
    };
    if generation != expected_generation {
        return (
            record,
            Reply::Refused("the effect is revoked in another generation than expected"),
        );
    }
    if let Some(holder) = &ledger.place {
        return (record, Reply::PlaceTaken(LedgerRef::clone(holder)));
    }
    let reopened = Record {
        fingerprint,
        status: Status::Failed,
        mode: current.map_or(Mode::Transactional, |record| record.mode),
        recovery: None,
        owner,
        lease_until: None,
        attempt: 0,
        generation: generation.saturating_add(1),
        step_id: None,
        run_id: None,
        outcome: None,
        created_at: now,
        completed_at: None,
        expires_at: Some(expires_at),
    };
    (Some(reopened), Reply::Done)
}
