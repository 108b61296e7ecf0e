use super::{AttemptId, Claim, Event, Illegal, Reply, Settlement, Status};
use crate::clock::Timestamp;
use crate::key::Fingerprint;
use crate::ledger::{EntryKind, LedgerRef, LedgerView, Standing};
use crate::record::{Mode, Outcome, OutcomeKind, OwnerToken, Record, Recovery};

/// What is stored next, and what the caller is told.
type Next = Result<(Option<Record>, Reply), Illegal>;

/// Decides what `event` makes of a stored `record` at `now`.
///
/// `ledger` is what the ledger says about the key and, for a claim or a reopening with a
/// `once_per` place, who else holds that place. The first part of the answer is what is stored
/// from now on, unchanged if the event changes nothing; the second is what the caller is told.
///
/// # Errors
///
/// Fails when the record cannot have come from any sequence of events; nothing may be done with it
/// then but to report it.
pub fn transition(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    // An expired record counts as absent, but for its token: what an owner re-sends is recognised.
    let live = |record: &Record| !record.is_expired(now);
    match event {
        Event::Claim(claim) => match record.filter(live) {
            Some(record) if record.is_alias() => {
                let key = record.outcome.as_ref().and_then(Outcome::alias_of);
                let key = key.ok_or(Illegal::NoAlias)?;
                Ok((Some(record), Reply::Aliased(key)))
            }
            None => claim_absent(ledger, claim, now),
            Some(record) => claim_present(record, ledger, claim, now),
        },
        Event::Complete {
            owner,
            outcome,
            retention,
        } => by_owner(record, owner, |mut record| match record.status {
            Status::InFlight | Status::Unknown => {
                complete(&mut record, outcome, now, now.after(retention));
                (record, Reply::Done)
            }
            Status::Completed => (record, Reply::Done),
            Status::Failed | Status::Revoked => (record, Reply::Stale),
        }),
        Event::Settle(Settlement::Fail { owner }) => {
            by_owner(record, owner, |mut record| match (record.status, record.recovery) {
                (Status::InFlight, Some(Recovery::Rerun { .. })) => {
                    record.lease_until = Some(now);
                    (record, Reply::Done)
                }
                (Status::InFlight, Some(Recovery::Hold) | None) => {
                    hold(&mut record);
                    let reply = unknown(&record);
                    (record, reply)
                }
                (Status::Unknown, _) => {
                    let reply = unknown(&record);
                    (record, reply)
                }
                (Status::Completed | Status::Failed | Status::Revoked, _) => (record, Reply::Stale),
            })
        }
        Event::Settle(Settlement::Release { owner, retention }) => {
            by_owner(record, owner, |mut record| match record.status {
                Status::InFlight | Status::Unknown => {
                    release(&mut record, now.after(retention));
                    (record, Reply::Done)
                }
                Status::Failed => (record, Reply::Done),
                Status::Completed | Status::Revoked => (record, Reply::Stale),
            })
        }
        Event::Settle(Settlement::Renew { owner, lease }) => {
            by_owner(record, owner, |mut record| match (record.status, record.mode) {
                (Status::InFlight, Mode::Leased) => {
                    record.lease_until = Some(now.after(lease));
                    (record, Reply::Done)
                }
                _ => (record, Reply::Stale),
            })
        }
        Event::Settle(Settlement::Resolve {
            attempt,
            outcome,
            owner,
            retention,
        }) => Ok(resolve(record, attempt, outcome, owner, now, now.after(retention))),
        Event::Settle(Settlement::Revoke {
            expected_generation,
            owner,
            retention,
        }) => Ok(revoke(
            record,
            live,
            ledger,
            expected_generation,
            owner,
            now,
            now.after(retention),
        )),
        Event::Settle(Settlement::Reopen {
            expected_generation,
            owner,
            retention,
            ..
        }) => Ok(reopen(
            record,
            live,
            ledger,
            expected_generation,
            owner,
            now,
            now.after(retention),
        )),
    }
}

/// A claim where no record counts: the ledger is asked before anything runs.
fn claim_absent(ledger: &LedgerView, claim: Claim, now: Timestamp) -> Next {
    if let Some(standing) = &ledger.own {
        if standing.kind == EntryKind::Aliased {
            // What is asked for is judged under the key that has the effect.
            let key = standing.alias.clone().ok_or(Illegal::NoAlias)?;
            return Ok((None, Reply::Aliased(key)));
        }
        check_version(&standing.fingerprint, &claim.fingerprint)?;
    }
    let generation = match &ledger.own {
        None => 1,
        Some(standing) if standing.fingerprint != claim.fingerprint => return Ok((None, Reply::Mismatch)),
        Some(Standing {
            kind: EntryKind::Revoked,
            ..
        }) => return Ok((None, Reply::Revoked(None))),
        Some(Standing {
            kind: EntryKind::Reopened,
            entry,
            ..
        }) => entry.generation,
        Some(Standing { entry, .. }) => return Ok((None, Reply::AlreadyExecuted(entry.clone()))),
    };
    if let Some(holder) = &ledger.place {
        return Ok((None, Reply::PlaceTaken(holder.clone())));
    }
    Ok(claimed(new_record(claim, generation, 1, now), false))
}

/// A claim against a record that counts. Whatever binds its fingerprint judges a mismatch first.
fn claim_present(record: Record, ledger: &LedgerView, claim: Claim, now: Timestamp) -> Next {
    check_version(&record.fingerprint, &claim.fingerprint)?;
    let binds = !(record.status == Status::Failed && record.generation == 1);
    if binds && record.fingerprint != claim.fingerprint {
        return Ok((Some(record), Reply::Mismatch));
    }
    match record.status {
        // The answer to this very claim was lost, and it was sent again.
        Status::InFlight if record.owner == claim.owner => {
            let took_over = record.attempt > 1;
            Ok(claimed(record, took_over))
        }
        Status::InFlight => claim_in_flight(record, ledger, claim, now),
        Status::Unknown => {
            let reply = unknown(&record);
            Ok((Some(record), reply))
        }
        Status::Completed => match record.outcome.clone() {
            Some(outcome) => Ok((Some(record), Reply::Replay(outcome))),
            None => Err(Illegal::NoOutcome),
        },
        Status::Revoked => {
            let outcome = record.outcome.clone();
            Ok((Some(record), Reply::Revoked(outcome)))
        }
        Status::Failed => {
            if let Some(Standing {
                kind: EntryKind::Executed,
                entry,
                ..
            }) = &ledger.own
                && entry.generation >= record.generation
            {
                return Ok((Some(record.clone()), Reply::AlreadyExecuted(entry.clone())));
            }
            if let Some(holder) = &ledger.place {
                return Ok((Some(record), Reply::PlaceTaken(holder.clone())));
            }
            let attempt = record.attempt.saturating_add(1);
            Ok(claimed(new_record(claim, record.generation, attempt, now), false))
        }
    }
}

/// A claim while another attempt holds the record.
fn claim_in_flight(mut record: Record, ledger: &LedgerView, claim: Claim, now: Timestamp) -> Next {
    let (Mode::Leased, Some(lease_until)) = (record.mode, record.lease_until) else {
        // A transactional claim is committed only together with its outcome. One that stands alone
        // was committed by the effect itself, so part of that effect may stand as well.
        let reply = unknown(&record);
        return Ok((Some(record), reply));
    };
    if lease_until > now {
        return Ok((
            Some(record),
            Reply::InFlight {
                lease_left: Some(now.until(lease_until)),
            },
        ));
    }
    let stored = record.recovery.ok_or(Illegal::NoRecovery)?;
    // A transactional claimant has no way to repeat an outside effect under its key.
    let recovery = stored.stricter(claim.lease.map_or(Recovery::Hold, |(_, recovery)| recovery));
    match recovery {
        Recovery::Rerun { remembered_for } if now < record.created_at.after(remembered_for) => {
            // An earlier attempt may have named another place, or none.
            if let Some(holder) = &ledger.place {
                return Ok((Some(record), Reply::PlaceTaken(holder.clone())));
            }
            let first_attempt = record.created_at;
            let mut next = new_record(claim, record.generation, record.attempt.saturating_add(1), now);
            next.created_at = first_attempt;
            next.recovery = Some(recovery);
            Ok(claimed(next, true))
        }
        Recovery::Rerun { .. } | Recovery::Hold => {
            hold(&mut record);
            let reply = unknown(&record);
            Ok((Some(record), reply))
        }
    }
}

fn resolve(
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

fn revoke(
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
            if record.status == Status::Completed && record.generation == expected_generation && happened(&record) =>
        {
            record.status = Status::Revoked;
            record.owner = owner;
            record.expires_at = Some(expires_at);
            (Some(record), Reply::Done)
        }
        Some(record) if live(&record) => {
            let why = match record.status {
                Status::Revoked => REVOKED,
                Status::Completed if happened(&record) => ANOTHER_GENERATION,
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

/// A final error is an outcome too, but nothing was done that could be undone.
fn happened(record: &Record) -> bool {
    record
        .outcome
        .as_ref()
        .is_some_and(|outcome| outcome.kind() == OutcomeKind::Success)
}

fn reopen(
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

/// Applies `f` if `owner` holds the token of the record; a stale token changes nothing.
fn by_owner(record: Option<Record>, owner: OwnerToken, f: impl FnOnce(Record) -> (Record, Reply)) -> Next {
    match record {
        Some(record) if record.owner == owner => {
            let (record, reply) = f(record);
            Ok((Some(record), reply))
        }
        other => Ok((other, Reply::Stale)),
    }
}

fn new_record(claim: Claim, generation: u32, attempt: u32, now: Timestamp) -> Record {
    Record {
        fingerprint: claim.fingerprint,
        status: Status::InFlight,
        mode: if claim.lease.is_some() {
            Mode::Leased
        } else {
            Mode::Transactional
        },
        recovery: claim.lease.map(|(_, recovery)| recovery),
        owner: claim.owner,
        lease_until: claim.lease.map(|(lease, _)| now.after(lease)),
        attempt,
        generation,
        step_id: claim.step_id,
        run_id: claim.run_id,
        outcome: None,
        created_at: now,
        completed_at: None,
        expires_at: None,
    }
}

fn claimed(record: Record, took_over: bool) -> (Option<Record>, Reply) {
    let reply = Reply::Claimed {
        generation: record.generation,
        attempt: record.attempt,
        took_over,
    };
    (Some(record), reply)
}

fn complete(record: &mut Record, outcome: Outcome, now: Timestamp, expires_at: Timestamp) {
    record.status = Status::Completed;
    record.outcome = Some(outcome);
    record.lease_until = None;
    record.completed_at = Some(now);
    record.expires_at = Some(expires_at);
}

fn release(record: &mut Record, expires_at: Timestamp) {
    record.status = Status::Failed;
    record.lease_until = None;
    record.expires_at = Some(expires_at);
}

/// The token stays, so that a late acknowledgement by its owner still completes the record.
fn hold(record: &mut Record) {
    record.status = Status::Unknown;
    record.lease_until = None;
}

fn unknown(record: &Record) -> Reply {
    Reply::OutcomeUnknown {
        generation: record.generation,
        attempt: record.attempt,
    }
}

fn check_version(stored: &Fingerprint, own: &Fingerprint) -> Result<(), Illegal> {
    if stored.version() == own.version() {
        return Ok(());
    }
    Err(Illegal::FingerprintVersion {
        found: stored.version(),
        own: own.version(),
    })
}
