use super::by_hand::{reopen, resolve, revoke};
use super::{Claim, Event, Illegal, Reply, Settlement, Status};
use crate::clock::Timestamp;
use crate::key::Fingerprint;
use crate::ledger::{EntryKind, LedgerRef, LedgerView, Standing};
use crate::record::{Mode, Outcome, OwnerToken, Record, Recovery};

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
        Status::Completed => {
            if let Some(entry) = buried(&record, &claim, now) {
                return Ok((Some(record), Reply::AlreadyExecuted(entry)));
            }
            match record.outcome.clone() {
                Some(outcome) => Ok((Some(record), Reply::Replay(outcome))),
                None => Err(Illegal::NoOutcome),
            }
        }
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

/// The effect as it is told of where its outcome is not replayed any more and its record still stands for it. How long an
/// outcome is replayed is for the one who asks to say, as with everything that a claimant brings.
fn buried(record: &Record, claim: &Claim, now: Timestamp) -> Option<LedgerRef> {
    let tombstone = claim.tombstone.as_ref().filter(|_| record.happened())?;
    let completed_at = record.completed_at?;
    (completed_at.after(claim.retention) <= now).then(|| LedgerRef {
        key: tombstone.key.as_str().to_owned(),
        generation: record.generation,
        action: tombstone.action.clone(),
        step_id: record.step_id.clone(),
        run_id: record.run_id.clone(),
        recorded_at: completed_at,
    })
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

pub(super) fn complete(record: &mut Record, outcome: Outcome, now: Timestamp, expires_at: Timestamp) {
    record.status = Status::Completed;
    record.outcome = Some(outcome);
    record.lease_until = None;
    record.completed_at = Some(now);
    record.expires_at = Some(expires_at);
}

pub(super) fn release(record: &mut Record, expires_at: Timestamp) {
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
