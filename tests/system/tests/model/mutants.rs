//! The transition function with one guard broken in each: an invariant must notice every one of them.

use std::time::Duration;

use idem_core::{
    EntryKind, Event, Illegal, LedgerView, Mode, OutcomeKind, OwnerToken, Record, Recovery, Reply, Settlement, Status,
    Timestamp, transition,
};

use crate::explore::search;
use crate::setup::Setup;
use crate::world::Protocol;

type Next = Result<(Option<Record>, Reply), Illegal>;

/// Tests that a mutant of the transition function makes the named property fail.
macro_rules! mutants {
    ($($test:ident: $mutant:expr, $setup:expr => $property:literal;)*) => {
        $(#[test]
        fn $test() {
            let protocol = Protocol {
                transition: $mutant,
                ..Protocol::of($setup)
            };
            assert_fails(protocol, $property);
        })*
    };
}

#[track_caller]
fn assert_fails(protocol: Protocol, property: &'static str) {
    let found = search(&protocol, property);
    assert!(found.breaks(property), "nothing noticed it: {found}");
}

mutants! {
    mutant_completion_compares_no_token: complete_any_token, Setup::rerun() => "a stale owner changes nothing";
    mutant_failure_compares_no_token: fail_any_token, Setup::rerun() => "a stale owner changes nothing";
    mutant_release_compares_no_token: release_any_token, Setup::rerun() => "a stale owner changes nothing";
    mutant_renewal_compares_no_token: renew_any_token, Setup::rerun() => "a stale owner changes nothing";
    mutant_mismatch_is_not_judged: no_mismatch, Setup::transactional() => "nobody gets another fingerprint's outcome";
    mutant_mismatch_is_not_judged_in_leased_mode: no_mismatch, Setup::rerun() => "nobody gets another fingerprint's outcome";
    mutant_the_end_of_a_lease_is_a_release: lease_end_releases, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_a_live_lease_is_taken: steal_lease, Setup::rerun() => "nothing runs beside an attempt that may have the effect";
    mutant_a_live_lease_counts_for_nothing: ignore_live_claim, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_hold_is_a_rerun: hold_is_rerun, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_the_horizon_is_ignored: no_horizon, Setup::rerun() => "nothing runs again beyond the horizon";
    mutant_the_horizon_counts_from_the_last_attempt: horizon_moves, Setup::rerun() => "nothing runs again beyond the horizon";
    mutant_the_laxer_recovery_decides: laxer, Setup::mixed() => "nothing runs beside an attempt that may have the effect";
    mutant_the_stored_recovery_decides: stored_recovery, Setup::mixed() => "nothing runs beside an attempt that may have the effect";
    mutant_the_claimants_recovery_decides: own_recovery, Setup::mixed() => "nothing runs beside an attempt that may have the effect";
    mutant_a_transaction_takes_over_an_outside_effect: transaction_reruns, Setup::mixed() => "nothing runs beside an attempt that may have the effect";
    mutant_a_takeover_keeps_the_token: takeover_keeps_token, Setup::rerun() => "what is sent again changes nothing and gets the same answer";
    mutant_the_ledger_is_ignored: no_ledger, Setup::transactional() => "nothing runs where an outcome stands";
    mutant_the_ledger_is_ignored_in_leased_mode: no_ledger, Setup::hold() => "nothing runs where an outcome stands";
    mutant_whatever_is_old_expires: all_expire, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_unknown_is_run_again: unknown_reruns, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_unknown_forgets_its_owner: unknown_forgets, Setup::hold() => "the owner's acknowledgement is accepted, however late";
    mutant_a_late_acknowledgement_is_refused: unknown_is_not_completed, Setup::hold() => "the owner's acknowledgement is accepted, however late";
    mutant_failure_under_hold_is_a_release: fail_releases, Setup::hold() => "nothing runs beside an attempt that may have the effect";
    mutant_a_verdict_keeps_the_old_token: resolve_keeps_token, Setup::hold() => "what is sent again changes nothing and gets the same answer";
    mutant_a_late_acknowledgement_undoes_a_verdict: complete_after_verdict, Setup::hold() => "a completed outcome stays as it is";
    mutant_a_verdict_overrides_an_outcome: resolve_completed, Setup::hold() => "a completed outcome stays as it is";
    mutant_a_verdict_counts_for_any_attempt: verdict_on_any_attempt, Setup::stale_verdicts() => "the effect happens once in a generation";
    mutant_a_verdict_counts_for_attempts_counted_anew: verdict_by_number, Setup::stale_verdicts() => "the effect happens once in a generation";
    mutant_unknown_cannot_be_resolved: never_resolved, Setup::hold() => "everything can be brought to an end";
    mutant_a_lease_never_ends: endless_lease, Setup::hold() => "everything can be brought to an end";
    mutant_a_claim_sent_again_is_not_recognised: own_claim_unknown, Setup::hold() => "what is sent again changes nothing and gets the same answer";
    mutant_a_completion_sent_again_is_refused: completed_is_stale, Setup::hold() => "what is sent again changes nothing and gets the same answer";
    mutant_a_refused_claim_leaves_its_token: refused_claim_leaves_token, Setup::hold() => "a refusal changes nothing";
    mutant_a_claim_that_stands_alone_is_absent: lone_claim_is_absent, Setup::broken_transactions() => "the effect happens once in a generation";
    mutant_revoked_is_run_again: revoked_reruns, Setup::reopened() => "nothing runs where an outcome stands";
    mutant_revoked_in_the_ledger_is_run_again: revoked_in_ledger_reruns, Setup::reopened() => "nothing runs where an outcome stands";
    mutant_a_final_error_is_revoked: revoke_declined, Setup::transactional() => "an effect is undone once, and only what was undone is reopened";
    mutant_an_effect_is_revoked_twice: revoke_by_anybody, Setup::transactional() => "an effect is undone once, and only what was undone is reopened";
    mutant_revoking_expects_no_generation: revoke_any_generation, Setup::transactional() => "an effect is undone once, and only what was undone is reopened";
    mutant_completed_is_reopened: reopen_completed, Setup::reopened() => "an effect is undone once, and only what was undone is reopened";
    mutant_reopening_keeps_the_generation: reopen_same_generation, Setup::transactional() => "nothing runs where an outcome stands";
    mutant_reopening_keeps_the_token: reopen_keeps_token, Setup::reopened() => "what is sent again changes nothing and gets the same answer";
    mutant_reopening_expects_no_generation: reopen_any_generation, Setup::transactional() => "an effect is undone once, and only what was undone is reopened";
    mutant_a_reopened_key_takes_any_request: reopened_unbound, Setup::transactional() => "a reopened generation is bound to its fingerprint";
    mutant_the_place_is_ignored: no_place, Setup::place() => "a place holds one effect";
}

#[test]
fn mutant_a_purge_takes_whatever_is_old() {
    let protocol = Protocol {
        purges: |record, now| record.expires_at.is_some_and(|end| end <= now),
        ..Protocol::of(Setup::hold())
    };
    assert_fails(protocol, "nothing runs beside an attempt that may have the effect");
}

#[test]
fn mutant_an_attempt_that_took_over_releases_the_claim() {
    let setup = Setup {
        later_attempts_release: true,
        ..Setup::rerun()
    };
    assert_fails(Protocol::of(setup.clone()), "nothing runs again beyond the horizon");
    assert_fails(Protocol::of(setup), "nobody gets another fingerprint's outcome");
}

#[test]
fn mutant_an_attempt_counted_anew_does_not_take_its_place_anew() {
    let setup = Setup {
        intended_slot: |attempt, _| attempt,
        ..Setup::place()
    };
    assert_fails(Protocol::of(setup), "a place holds one effect");
}

fn complete_any_token(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Complete { owner, .. }, Some(record)) = (&mut event, &record) {
        *owner = record.owner;
    }
    transition(record, ledger, event, now)
}

fn fail_any_token(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Fail { owner }), Some(record)) = (&mut event, &record) {
        *owner = record.owner;
    }
    transition(record, ledger, event, now)
}

fn release_any_token(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Release { owner, .. }), Some(record)) = (&mut event, &record) {
        *owner = record.owner;
    }
    transition(record, ledger, event, now)
}

fn renew_any_token(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Renew { owner, .. }), Some(record)) = (&mut event, &record) {
        *owner = record.owner;
    }
    transition(record, ledger, event, now)
}

fn no_mismatch(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(claim), Some(record)) = (&mut event, &record) {
        claim.fingerprint = record.fingerprint.clone();
    }
    transition(record, ledger, event, now)
}

fn lease_end_releases(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(_), Some(record)) = (&event, &mut record)
        && record.status == Status::InFlight
        && record.lease_until.is_some_and(|end| end <= now)
    {
        record.status = Status::Failed;
    }
    transition(record, ledger, event, now)
}

/// The first duplicate ends the lease of a running attempt, and by that its claim.
fn steal_lease(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(claim), Some(record)) = (&event, &mut record)
        && record.status == Status::InFlight
        && record.owner != claim.owner
    {
        record.lease_until = Some(now);
    }
    transition(record, ledger, event, now)
}

fn ignore_live_claim(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(claim), Some(record)) = (&event, &mut record)
        && record.status == Status::InFlight
        && record.owner != claim.owner
    {
        record.status = Status::Failed;
    }
    transition(record, ledger, event, now)
}

fn hold_is_rerun(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    both_recoveries(&mut record, &mut event, |_, _| EVER);
    transition(record, ledger, event, now)
}

fn no_horizon(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    both_recoveries(&mut record, &mut event, |stored, own| match stored.stricter(own) {
        Recovery::Hold => Recovery::Hold,
        Recovery::Rerun { .. } => EVER,
    });
    transition(record, ledger, event, now)
}

fn laxer(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    both_recoveries(&mut record, &mut event, |stored, own| match (stored, own) {
        (Recovery::Rerun { remembered_for: a }, Recovery::Rerun { remembered_for: b }) => Recovery::Rerun {
            remembered_for: a.max(b),
        },
        (Recovery::Hold, other) | (other, Recovery::Hold) => other,
    });
    transition(record, ledger, event, now)
}

fn stored_recovery(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    both_recoveries(&mut record, &mut event, |stored, _| stored);
    transition(record, ledger, event, now)
}

fn own_recovery(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    both_recoveries(&mut record, &mut event, |_, own| own);
    transition(record, ledger, event, now)
}

/// Gives a leased claim and the record that it meets a recovery in common.
fn both_recoveries(record: &mut Option<Record>, event: &mut Event, choose: fn(Recovery, Recovery) -> Recovery) {
    let (Some(record), Event::Claim(claim)) = (record, event) else {
        return;
    };
    if record.owner == claim.owner {
        return;
    }
    if let (Some(stored), Some((_, own))) = (&mut record.recovery, &mut claim.lease) {
        let chosen = choose(*stored, *own);
        (*stored, *own) = (chosen, chosen);
    }
}

fn transaction_reruns(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let Event::Claim(mut claim) = event else {
        return transition(record, ledger, event, now);
    };
    let transactional = claim.lease.is_none();
    if transactional {
        claim.lease = Some((Duration::ZERO, EVER));
    }
    let (mut next, reply) = transition(record, ledger, Event::Claim(claim), now)?;
    if let (true, Reply::Claimed { .. }, Some(next)) = (transactional, &reply, &mut next) {
        (next.mode, next.recovery, next.lease_until) = (Mode::Transactional, None, None);
    }
    Ok((next, reply))
}

fn horizon_moves(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let before = record.as_ref().map(|record| (record.status, record.attempt));
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (Reply::Claimed { attempt, .. }, Some((Status::InFlight, earlier)), Some(next)) = (&reply, before, &mut next)
        && *attempt > earlier
    {
        next.created_at = now;
    }
    Ok((next, reply))
}

fn takeover_keeps_token(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let owner = record.as_ref().map(|record| record.owner);
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (Reply::Claimed { attempt: 2.., .. }, Some(owner), Some(next)) = (&reply, owner, &mut next) {
        next.owner = owner;
    }
    Ok((next, reply))
}

fn no_ledger(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let place = ledger.place.clone();
    let claims = matches!(event, Event::Claim(_));
    let blind = LedgerView { own: None, place };
    transition(record, if claims { &blind } else { ledger }, event, now)
}

fn all_expire(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let claims = matches!(event, Event::Claim(_));
    let live = |record: &Record| !claims || record.expires_at.is_none_or(|end| end > now);
    transition(record.filter(live), ledger, event, now)
}

fn unknown_reruns(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    claims_as(&mut record, &event, Status::Unknown, Status::Failed);
    transition(record, ledger, event, now)
}

fn revoked_reruns(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    claims_as(&mut record, &event, Status::Revoked, Status::Failed);
    let blind = LedgerView::default();
    let claims = matches!(event, Event::Claim(_)) && record.is_some();
    transition(record, if claims { &blind } else { ledger }, event, now)
}

/// Lets claims take one status for another.
fn claims_as(record: &mut Option<Record>, event: &Event, status: Status, taken_for: Status) {
    if let (Event::Claim(_), Some(record)) = (event, record)
        && record.status == status
    {
        record.status = taken_for;
    }
}

fn revoked_in_ledger_reruns(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let mut ledger = ledger.clone();
    if let (Event::Claim(_), Some(own)) = (&event, &mut ledger.own)
        && own.kind == EntryKind::Revoked
    {
        own.kind = EntryKind::Reopened;
    }
    transition(record, &ledger, event, now)
}

fn unknown_forgets(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (Reply::OutcomeUnknown { .. }, Some(next)) = (&reply, &mut next) {
        next.owner = NOBODY;
    }
    Ok((next, reply))
}

fn unknown_is_not_completed(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let unknown = record.as_ref().is_some_and(|record| record.status == Status::Unknown);
    if unknown && matches!(event, Event::Complete { .. }) {
        return Ok((record, Reply::Stale));
    }
    transition(record, ledger, event, now)
}

fn fail_releases(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let event = match event {
        Event::Settle(Settlement::Fail { owner }) => Event::Settle(Settlement::Release {
            owner,
            retention: Duration::from_secs(3),
        }),
        event => event,
    };
    transition(record, ledger, event, now)
}

fn resolve_keeps_token(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let owner = record.as_ref().map(|record| record.owner);
    let resolves = matches!(event, Event::Settle(Settlement::Resolve { .. }));
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (true, Reply::Done, Some(owner), Some(next)) = (resolves, &reply, owner, &mut next) {
        next.owner = owner;
    }
    Ok((next, reply))
}

fn verdict_on_any_attempt(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Resolve { attempt, .. }), Some(record)) = (&mut event, &record) {
        *attempt = record.attempt_id();
    }
    transition(record, ledger, event, now)
}

fn verdict_by_number(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Resolve { attempt, .. }), Some(record)) = (&mut event, &record) {
        attempt.since = record.created_at;
    }
    transition(record, ledger, event, now)
}

fn revoke_any_generation(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (
        Event::Settle(Settlement::Revoke {
            expected_generation, ..
        }),
        Some(record),
    ) = (&mut event, &record)
    {
        *expected_generation = record.generation;
    }
    transition(record, ledger, event, now)
}

fn revoke_by_anybody(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Revoke { owner, .. }), Some(record)) = (&event, &mut record)
        && record.status == Status::Revoked
    {
        record.owner = *owner;
    }
    transition(record, ledger, event, now)
}

fn complete_after_verdict(mut record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (Event::Complete { owner, .. }, Some(record)) = (&mut event, &mut record)
        && matches!(record.status, Status::Failed | Status::Completed)
        && record.owner != *owner
    {
        *owner = record.owner;
        record.status = Status::Unknown;
    }
    transition(record, ledger, event, now)
}

fn resolve_completed(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Resolve { .. }), Some(record)) = (&event, &mut record)
        && record.status == Status::Completed
    {
        record.status = Status::Unknown;
    }
    transition(record, ledger, event, now)
}

fn never_resolved(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if matches!(event, Event::Settle(Settlement::Resolve { .. })) {
        return Ok((record, Reply::Refused("")));
    }
    transition(record, ledger, event, now)
}

fn endless_lease(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let before = record.clone();
    if let (
        Event::Claim(_),
        Some(Record {
            lease_until: Some(end), ..
        }),
    ) = (&event, &mut record)
    {
        *end = now.after(Duration::from_secs(1));
        let (next, reply) = transition(record, ledger, event, now)?;
        return Ok(if matches!(reply, Reply::InFlight { .. }) {
            (before, reply)
        } else {
            (next, reply)
        });
    }
    transition(record, ledger, event, now)
}

fn own_claim_unknown(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(claim), Some(before)) = (&event, &record)
        && before.owner == claim.owner
        && before.status == Status::InFlight
    {
        return Ok((record, Reply::InFlight { lease_left: None }));
    }
    transition(record, ledger, event, now)
}

fn completed_is_stale(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let completed = record.as_ref().is_some_and(|record| record.status == Status::Completed);
    if completed && matches!(event, Event::Complete { .. }) {
        return Ok((record, Reply::Stale));
    }
    transition(record, ledger, event, now)
}

fn refused_claim_leaves_token(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let owner = match &event {
        Event::Claim(claim) => Some(claim.owner),
        _ => None,
    };
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (Reply::InFlight { .. }, Some(owner), Some(next)) = (&reply, owner, &mut next) {
        next.owner = owner;
    }
    Ok((next, reply))
}

fn lone_claim_is_absent(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let claims = matches!(event, Event::Claim(_));
    let lone = |record: &Record| record.status == Status::InFlight && record.mode == Mode::Transactional;
    let own = |record: &Record| matches!(&event, Event::Claim(claim) if claim.owner == record.owner);
    let record = record.filter(|record| !(claims && lone(record)) || own(record));
    transition(record, ledger, event, now)
}

fn revoke_declined(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Revoke { .. }), Some(before)) = (&event, &record)
        && before
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome.kind() == OutcomeKind::Declined)
    {
        let mut record = record;
        if let Some(record) = &mut record {
            record.status = Status::Revoked;
        }
        return Ok((record, Reply::Done));
    }
    transition(record, ledger, event, now)
}

fn reopen_completed(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Reopen { .. }), Some(record)) = (&event, &mut record)
        && record.status == Status::Completed
    {
        record.status = Status::Revoked;
    }
    transition(record, ledger, event, now)
}

fn reopen_same_generation(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Settle(Settlement::Reopen { owner, .. }), Some(before)) = (&event, &record)
        && before.owner == *owner
    {
        return Ok((record, Reply::Done));
    }
    let reopens = matches!(event, Event::Settle(Settlement::Reopen { .. }));
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (true, Reply::Done, Some(next)) = (reopens, &reply, &mut next)
        && next.generation > 1
    {
        next.generation = 1;
    }
    Ok((next, reply))
}

fn reopen_keeps_token(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let owner = record.as_ref().map(|record| record.owner);
    let reopens = matches!(event, Event::Settle(Settlement::Reopen { .. }));
    let (mut next, reply) = transition(record, ledger, event, now)?;
    if let (true, Reply::Done, Some(owner), Some(next)) = (reopens, &reply, owner, &mut next) {
        next.owner = owner;
    }
    Ok((next, reply))
}

fn reopen_any_generation(record: Option<Record>, ledger: &LedgerView, mut event: Event, now: Timestamp) -> Next {
    if let (
        Event::Settle(Settlement::Reopen {
            expected_generation, ..
        }),
        Some(record),
    ) = (&mut event, &record)
        && record.status == Status::Revoked
    {
        *expected_generation = record.generation;
    }
    transition(record, ledger, event, now)
}

fn reopened_unbound(mut record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    if let (Event::Claim(claim), Some(record)) = (&event, &mut record)
        && record.status == Status::Failed
    {
        record.fingerprint = claim.fingerprint.clone();
    }
    transition(record, ledger, event, now)
}

fn no_place(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Next {
    let own = ledger.own.clone();
    transition(record, &LedgerView { own, place: None }, event, now)
}

const EVER: Recovery = Recovery::Rerun {
    remembered_for: Duration::from_secs(100),
};
const NOBODY: OwnerToken = OwnerToken::from_bytes([0; 16]);
