//! Names are sentences of the contract.

mod tombstone;

use std::time::Duration;

use super::*;
use crate::clock::Timestamp;
use crate::key::Fingerprint;
use crate::ledger::{EntryKind, LedgerRef, LedgerView, Standing};
use crate::record::{Outcome, OutcomeKind, OwnerToken, Record, Recovery};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(30);

fn fingerprint(n: u8) -> Fingerprint {
    Fingerprint::from_stored(Fingerprint::VERSION, [n; 32])
}

fn owner(n: u8) -> OwnerToken {
    OwnerToken::from_bytes([n; 16])
}

fn outcome() -> Outcome {
    Outcome::encode(OutcomeKind::Success, &7).expect("a number")
}

fn claim(owner_number: u8, print: u8) -> Claim {
    Claim {
        fingerprint: fingerprint(print),
        owner: owner(owner_number),
        lease: None,
        retention: HOUR,
        tombstone: None,
        step_id: None,
        run_id: None,
    }
}

fn leased(owner_number: u8, recovery: Recovery) -> Event {
    Event::Claim(Claim {
        lease: Some((LEASE, recovery)),
        ..claim(owner_number, 1)
    })
}

fn rerun() -> Recovery {
    Recovery::Rerun { remembered_for: HOUR }
}

fn complete(number: u8) -> Event {
    Event::Complete {
        owner: owner(number),
        outcome: outcome(),
        retention: HOUR,
    }
}

fn entry(key: &str, generation: u32) -> LedgerRef {
    LedgerRef {
        key: key.into(),
        generation,
        action: "act".into(),
        step_id: None,
        run_id: None,
        recorded_at: NOW,
    }
}

fn stands(kind: EntryKind, generation: u32) -> LedgerView {
    let own = Some(Standing {
        kind,
        fingerprint: fingerprint(1),
        entry: entry("k", generation),
        alias: None,
    });
    LedgerView { own, place: None }
}

/// Applies events in turn against an empty ledger; each must be legal.
fn after(events: impl IntoIterator<Item = Event>) -> (Option<Record>, Reply) {
    let (mut record, mut reply) = (None, Reply::Done);
    for event in events {
        (record, reply) = transition(record, &LedgerView::default(), event, NOW).expect("legal");
    }
    (record, reply)
}

fn reply(record: Option<Record>, ledger: &LedgerView, event: Event, now: Timestamp) -> Reply {
    transition(record, ledger, event, now).expect("legal").1
}

fn unknown() -> Reply {
    unknown_at(1)
}

fn unknown_at(attempt: u32) -> Reply {
    Reply::OutcomeUnknown { generation: 1, attempt }
}

fn taken_over(attempt: u32) -> Reply {
    Reply::Claimed {
        generation: 1,
        attempt,
        took_over: true,
    }
}

fn claimed(attempt: u32) -> Reply {
    Reply::Claimed {
        generation: 1,
        attempt,
        took_over: false,
    }
}

#[test]
fn the_first_claim_wins_and_its_repeat_by_the_same_owner_is_a_no_op() {
    let (record, first) = after([Event::Claim(claim(1, 1))]);
    assert_eq!(first, claimed(1));
    let (again, second) = transition(record.clone(), &LedgerView::default(), Event::Claim(claim(1, 1)), NOW).unwrap();
    assert_eq!(second, claimed(1));
    assert_eq!(again.unwrap().owner, record.unwrap().owner);
}

#[test]
fn a_committed_transactional_claim_without_outcome_is_unknown() {
    let (record, _) = after([Event::Claim(claim(1, 1))]);
    assert_eq!(
        reply(record, &LedgerView::default(), Event::Claim(claim(2, 1)), NOW),
        unknown()
    );
}

const FIRST: AttemptId = AttemptId {
    generation: 1,
    attempt: 1,
    since: NOW,
};

fn revoke(generation: u32) -> Event {
    Event::Settle(Settlement::Revoke {
        expected_generation: generation,
        owner: owner(7),
        retention: HOUR,
    })
}

#[test]
fn a_mismatch_is_judged_before_everything_else_and_changes_nothing() {
    let states = [
        vec![Event::Claim(claim(1, 1))],
        vec![leased(1, rerun())],
        vec![Event::Claim(claim(1, 1)), complete(1)],
        vec![
            leased(1, Recovery::Hold),
            Event::Settle(Settlement::Fail { owner: owner(1) }),
        ],
        vec![Event::Claim(claim(1, 1)), complete(1), revoke(1)],
    ];
    for events in states {
        let (before, _) = after(events);
        let (next, told) =
            transition(before.clone(), &LedgerView::default(), Event::Claim(claim(2, 2)), NOW).expect("legal");
        assert_eq!(told, Reply::Mismatch, "{before:?}");
        let (before, next) = (before.unwrap(), next.unwrap());
        assert_eq!(
            (before.status, before.owner, before.fingerprint),
            (next.status, next.owner, next.fingerprint)
        );
    }
}

#[test]
fn an_outcome_is_replayed_until_it_expires_and_then_the_ledger_answers() {
    let (record, _) = after([Event::Claim(claim(1, 1)), complete(1)]);
    let ledger = stands(EntryKind::Executed, 1);
    let again = |now| reply(record.clone(), &ledger, Event::Claim(claim(2, 1)), now);
    assert_eq!(again(NOW), Reply::Replay(outcome()));
    assert_eq!(
        again(NOW.after(HOUR - Duration::from_millis(1))),
        Reply::Replay(outcome())
    );
    assert_eq!(again(NOW.after(HOUR)), Reply::AlreadyExecuted(entry("k", 1)));
    let changed = reply(record, &ledger, Event::Claim(claim(2, 2)), NOW.after(HOUR));
    assert_eq!(changed, Reply::Mismatch);
}

#[test]
fn completing_compares_the_token_and_is_a_no_op_when_sent_again() {
    let (record, _) = after([Event::Claim(claim(1, 1))]);
    assert_eq!(
        reply(record.clone(), &LedgerView::default(), complete(2), NOW),
        Reply::Stale
    );
    assert_eq!(reply(None, &LedgerView::default(), complete(1), NOW), Reply::Stale);
    let (record, told) = after([Event::Claim(claim(1, 1)), complete(1), complete(1)]);
    assert_eq!((told, record.unwrap().status), (Reply::Done, Status::Completed));
}

#[test]
fn a_lease_that_has_not_ended_holds_the_key() {
    let (record, _) = after([leased(1, rerun())]);
    let told = reply(record, &LedgerView::default(), leased(2, rerun()), NOW.after(LEASE / 3));
    assert_eq!(
        told,
        Reply::InFlight {
            lease_left: Some(LEASE - LEASE / 3)
        }
    );
}

#[test]
fn after_the_lease_a_rerun_is_taken_over_within_its_horizon_and_unknown_beyond() {
    let (record, _) = after([leased(1, rerun())]);
    let at = NOW.after(HOUR - Duration::from_millis(1));
    let (next, told) = transition(record.clone(), &LedgerView::default(), leased(2, rerun()), at).unwrap();
    let next = next.unwrap();
    assert_eq!((told, next.owner, next.attempt), (taken_over(2), owner(2), 2));
    // The horizon counts from the first attempt, whoever has taken over since.
    let (next, told) = transition(
        Some(next),
        &LedgerView::default(),
        leased(3, rerun()),
        NOW.after(2 * HOUR),
    )
    .unwrap();
    assert_eq!((told, next.unwrap().status), (unknown_at(2), Status::Unknown));
}

#[test]
fn the_stricter_recovery_decides() {
    let pairs = [(Recovery::Hold, rerun()), (rerun(), Recovery::Hold)];
    for (stored, current) in pairs {
        let (record, _) = after([leased(1, stored)]);
        let told = reply(record, &LedgerView::default(), leased(2, current), NOW.after(LEASE));
        assert_eq!(told, unknown());
    }
    let (record, _) = after([leased(1, rerun())]);
    let told = reply(
        record,
        &LedgerView::default(),
        Event::Claim(claim(2, 1)),
        NOW.after(LEASE),
    );
    assert_eq!(
        told,
        unknown(),
        "a transactional claimant cannot repeat an outside effect"
    );
    let short = Recovery::Rerun { remembered_for: LEASE };
    assert_eq!(short.stricter(rerun()), short);
}

#[test]
fn class_unknown_holds_or_lets_the_next_attempt_claim_at_once() {
    let (record, _) = after([
        leased(1, Recovery::Hold),
        Event::Settle(Settlement::Fail { owner: owner(1) }),
    ]);
    assert_eq!(record.clone().unwrap().status, Status::Unknown);
    assert_eq!(
        reply(record, &LedgerView::default(), leased(2, rerun()), NOW),
        unknown()
    );
    let (record, told) = after([
        leased(1, rerun()),
        Event::Settle(Settlement::Fail { owner: owner(1) }),
        leased(2, rerun()),
    ]);
    assert_eq!((told, record.unwrap().attempt), (taken_over(2), 2));
}

#[test]
fn an_unknown_outcome_is_completed_by_a_late_acknowledgement_and_fenced_by_a_resolution() {
    let unknown = || {
        vec![
            leased(1, Recovery::Hold),
            Event::Settle(Settlement::Fail { owner: owner(1) }),
        ]
    };
    let (record, told) = after(unknown().into_iter().chain([complete(1)]));
    assert_eq!((told, record.unwrap().status), (Reply::Done, Status::Completed));
    let resolve = |outcome| {
        Event::Settle(Settlement::Resolve {
            attempt: FIRST,
            outcome,
            owner: owner(9),
            retention: HOUR,
        })
    };
    let (record, told) = after(unknown().into_iter().chain([resolve(None), complete(1)]));
    assert_eq!((told, record.unwrap().status), (Reply::Stale, Status::Failed));
    let (record, told) = after(
        unknown()
            .into_iter()
            .chain([resolve(Some(outcome())), Event::Claim(claim(2, 1))]),
    );
    assert_eq!(
        (told, record.unwrap().status),
        (Reply::Replay(outcome()), Status::Completed)
    );
}

#[test]
fn a_verdict_about_another_attempt_changes_nothing() {
    for (generation, attempt, since) in [(1, 2, NOW), (2, 1, NOW), (1, 1, NOW.after(HOUR))] {
        let resolve = Event::Settle(Settlement::Resolve {
            attempt: AttemptId {
                generation,
                attempt,
                since,
            },
            outcome: None,
            owner: owner(9),
            retention: HOUR,
        });
        let fail = Event::Settle(Settlement::Fail { owner: owner(1) });
        let (record, told) = after([leased(1, Recovery::Hold), fail, resolve]);
        assert!(matches!(told, Reply::Refused(_)), "{told:?}");
        assert_eq!(record.unwrap().status, Status::Unknown);
    }
}

#[test]
fn only_what_is_unknown_can_be_resolved() {
    let resolve = || {
        Event::Settle(Settlement::Resolve {
            attempt: FIRST,
            outcome: None,
            owner: owner(9),
            retention: HOUR,
        })
    };
    assert!(matches!(after([resolve()]).1, Reply::Refused(_)));
    assert!(matches!(
        after([leased(1, Recovery::Hold), resolve()]).1,
        Reply::Refused(_)
    ));
    assert!(matches!(
        after([Event::Claim(claim(1, 1)), complete(1), resolve()]).1,
        Reply::Refused(_)
    ));
    // A transactional claim that stands alone is unknown as well.
    assert_eq!(after([Event::Claim(claim(1, 1)), resolve()]).1, Reply::Done);
}

#[test]
fn a_released_claim_binds_nothing_but_its_counters() {
    let release = || {
        Event::Settle(Settlement::Release {
            owner: owner(1),
            retention: HOUR,
        })
    };
    let (record, told) = after([
        leased(1, Recovery::Hold),
        release(),
        release(),
        Event::Claim(claim(2, 2)),
    ]);
    assert_eq!(told, claimed(2));
    assert_eq!(record.unwrap().fingerprint, fingerprint(2));
}

#[test]
fn renewal_extends_the_lease_of_the_owner_alone() {
    let renew = |number| {
        Event::Settle(Settlement::Renew {
            owner: owner(number),
            lease: HOUR,
        })
    };
    let (record, told) = after([leased(1, rerun()), renew(1)]);
    assert_eq!(
        (told, record.unwrap().lease_until),
        (Reply::Done, Some(NOW.after(HOUR)))
    );
    assert_eq!(after([leased(1, rerun()), renew(2)]).1, Reply::Stale);
    assert_eq!(
        after([Event::Claim(claim(1, 1)), renew(1)]).1,
        Reply::Stale,
        "a transaction has no lease"
    );
}

#[test]
fn a_revoked_effect_is_not_repeated_until_it_is_reopened() {
    let reopen = |expected_generation| {
        Event::Settle(Settlement::Reopen {
            expected_generation,
            owner: owner(8),
            retention: HOUR,
            place: None,
        })
    };
    let revoked = || vec![Event::Claim(claim(1, 1)), complete(1), revoke(1), revoke(1)];
    assert_eq!(after(revoked()).1, Reply::Done);
    assert_eq!(
        after(revoked().into_iter().chain([Event::Claim(claim(2, 1))])).1,
        Reply::Revoked(Some(outcome()))
    );
    assert!(matches!(
        after(revoked().into_iter().chain([reopen(2)])).1,
        Reply::Refused(_)
    ));
    let (record, told) = after(revoked().into_iter().chain([reopen(1), Event::Claim(claim(3, 1))]));
    assert_eq!(
        told,
        Reply::Claimed {
            generation: 2,
            attempt: 1,
            took_over: false,
        }
    );
    assert_eq!(record.unwrap().generation, 2);
    let changed = revoked().into_iter().chain([reopen(1), Event::Claim(claim(3, 2))]);
    assert_eq!(
        after(changed).1,
        Reply::Mismatch,
        "in a later generation the fingerprint still binds"
    );
}

#[test]
fn a_reopening_that_is_sent_again_is_a_no_op() {
    let reopen = |number| {
        Event::Settle(Settlement::Reopen {
            expected_generation: 1,
            owner: owner(number),
            retention: HOUR,
            place: None,
        })
    };
    let reopened = || [Event::Claim(claim(1, 1)), complete(1), revoke(1), reopen(8)];
    let (record, told) = after(reopened().into_iter().chain([reopen(8)]));
    assert_eq!((told, record.unwrap().generation), (Reply::Done, 2));
    let told = after(reopened().into_iter().chain([reopen(9)])).1;
    assert!(matches!(told, Reply::Refused(_)), "somebody else's is not the same");
}

#[test]
fn a_final_error_cannot_be_revoked() {
    let outcome = Outcome::encode(OutcomeKind::Declined, "no").expect("a string");
    let declined = Event::Complete {
        owner: owner(1),
        outcome,
        retention: HOUR,
    };
    let told = after([Event::Claim(claim(1, 1)), declined, revoke(1)]).1;
    assert!(matches!(told, Reply::Refused(_)));
}

#[test]
fn revoking_and_reopening_work_through_the_ledger_when_the_record_is_gone() {
    let reopen = || {
        Event::Settle(Settlement::Reopen {
            expected_generation: 3,
            owner: owner(8),
            retention: HOUR,
            place: None,
        })
    };
    assert_eq!(
        reply(None, &stands(EntryKind::Executed, 3), revoke(3), NOW),
        Reply::Done
    );
    assert!(matches!(
        reply(None, &stands(EntryKind::Executed, 3), revoke(2), NOW),
        Reply::Refused(_)
    ));
    assert!(matches!(
        reply(None, &LedgerView::default(), revoke(3), NOW),
        Reply::Refused(_)
    ));
    let (record, told) = transition(None, &stands(EntryKind::Revoked, 3), reopen(), NOW).unwrap();
    assert_eq!((told, record.unwrap().generation), (Reply::Done, 4));
    assert!(matches!(
        reply(None, &stands(EntryKind::Executed, 3), reopen(), NOW),
        Reply::Refused(_)
    ));
    let mut held = stands(EntryKind::Revoked, 3);
    held.place = Some(entry("other", 1));
    assert_eq!(reply(None, &held, reopen(), NOW), Reply::PlaceTaken(entry("other", 1)));
}

#[test]
fn without_a_record_the_ledger_decides_whether_anything_runs() {
    let told = |ledger: &LedgerView, print| reply(None, ledger, Event::Claim(claim(1, print)), NOW);
    assert_eq!(
        told(&stands(EntryKind::Executed, 1), 1),
        Reply::AlreadyExecuted(entry("k", 1))
    );
    assert_eq!(told(&stands(EntryKind::Executed, 1), 2), Reply::Mismatch);
    assert_eq!(told(&stands(EntryKind::Revoked, 1), 1), Reply::Revoked(None));
    assert_eq!(
        told(&stands(EntryKind::Reopened, 2), 1),
        Reply::Claimed {
            generation: 2,
            attempt: 1,
            took_over: false,
        }
    );
    let held = LedgerView {
        own: None,
        place: Some(entry("other", 1)),
    };
    assert_eq!(told(&held, 1), Reply::PlaceTaken(entry("other", 1)));
}

#[test]
fn claims_in_flight_and_unknown_outcomes_never_expire() {
    let much_later = NOW.after(100_000 * HOUR);
    for events in [
        vec![Event::Claim(claim(1, 1))],
        vec![
            leased(1, Recovery::Hold),
            Event::Settle(Settlement::Fail { owner: owner(1) }),
        ],
    ] {
        let (mut record, _) = after(events);
        record.as_mut().unwrap().expires_at = Some(NOW);
        let told = reply(record, &LedgerView::default(), Event::Claim(claim(2, 1)), much_later);
        assert_eq!(told, unknown());
    }
}

#[test]
fn a_record_that_contradicts_itself_is_reported_and_never_taken_for_absent() {
    let (record, _) = after([Event::Claim(claim(1, 1)), complete(1)]);
    let mut broken = record.clone().unwrap();
    broken.outcome = None;
    let told = transition(Some(broken), &LedgerView::default(), Event::Claim(claim(2, 1)), NOW);
    assert_eq!(told.unwrap_err(), Illegal::NoOutcome);
    let mut newer = record.unwrap();
    newer.fingerprint = Fingerprint::from_stored(Fingerprint::VERSION + 1, [1; 32]);
    let told = transition(Some(newer), &LedgerView::default(), Event::Claim(claim(2, 1)), NOW);
    assert!(matches!(told.unwrap_err(), Illegal::FingerprintVersion { .. }));
}
