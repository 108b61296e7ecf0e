//! Between the model's small values and the real ones.

use std::time::Duration;

use idem_core::{
    Event, Fingerprint, Illegal, LedgerRef, LedgerView, OutcomeKind, OwnerToken, Reply, Standing, Timestamp,
};

use crate::state::{Entry, Outcome, Record, Recovery, Token};

/// The function under test.
pub(crate) type Transition =
    fn(Option<idem_core::Record>, &LedgerView, Event, Timestamp) -> Result<(Option<idem_core::Record>, Reply), Illegal>;

pub(crate) fn duration(ticks: i8) -> Duration {
    Duration::from_millis(u64::from(ticks.unsigned_abs()) * TICK)
}

pub(crate) fn timestamp(tick: i8) -> Timestamp {
    Timestamp::from_millis(i64::from(tick) * TICK as i64)
}

fn tick(timestamp: Timestamp) -> i8 {
    i8::try_from(timestamp.as_millis() / TICK as i64).expect("a moment of the model")
}

pub(crate) fn token(token: Token) -> OwnerToken {
    OwnerToken::from_bytes([token; 16])
}

pub(crate) fn fingerprint(number: u8) -> Fingerprint {
    Fingerprint::from_stored(Fingerprint::VERSION, [number; 32])
}

pub(crate) fn recovery(recovery: Recovery) -> idem_core::Recovery {
    match recovery {
        Recovery::Hold => idem_core::Recovery::Hold,
        Recovery::Rerun(ticks) => idem_core::Recovery::Rerun {
            remembered_for: duration(ticks),
        },
    }
}

fn recovery_back(recovery: idem_core::Recovery) -> Recovery {
    match recovery {
        idem_core::Recovery::Hold => Recovery::Hold,
        idem_core::Recovery::Rerun { remembered_for } => {
            let ticks = remembered_for.as_millis() / u128::from(TICK);
            Recovery::Rerun(i8::try_from(ticks).expect("a duration of the model"))
        }
    }
}

pub(crate) fn outcome(outcome: Outcome) -> idem_core::Outcome {
    let kind = if outcome.declined {
        OutcomeKind::Declined
    } else {
        OutcomeKind::Success
    };
    let bytes = vec![outcome.fingerprint, outcome.author];
    idem_core::Outcome::from_stored(kind, Some(bytes), String::new(), String::new())
}

pub(crate) fn outcome_back(outcome: &idem_core::Outcome) -> Outcome {
    let Some(&[fingerprint, author]) = outcome.bytes() else {
        panic!("an outcome that the model did not write: {outcome:?}");
    };
    Outcome {
        declined: outcome.kind() == OutcomeKind::Declined,
        fingerprint,
        author,
    }
}

pub(crate) fn record(record: &Record) -> idem_core::Record {
    idem_core::Record {
        fingerprint: fingerprint(record.fingerprint),
        status: record.status,
        mode: record.mode,
        recovery: record.recovery.map(recovery),
        owner: token(record.owner),
        lease_until: record.lease_until.map(timestamp),
        attempt: record.attempt.into(),
        generation: record.generation.into(),
        step_id: None,
        run_id: None,
        outcome: record.outcome.map(outcome),
        created_at: timestamp(record.created_at),
        completed_at: None,
        expires_at: record.expires_at.map(timestamp),
    }
}

pub(crate) fn record_back(record: &idem_core::Record) -> Record {
    Record {
        fingerprint: record.fingerprint.as_bytes()[0],
        status: record.status,
        mode: record.mode,
        recovery: record.recovery.map(recovery_back),
        owner: record.owner.as_bytes()[0],
        lease_until: record.lease_until.map(tick),
        attempt: small(record.attempt),
        generation: small(record.generation),
        outcome: record.outcome.as_ref().map(outcome_back),
        created_at: tick(record.created_at),
        expires_at: record.expires_at.map(tick),
    }
}

/// What the ledger says of a key, and who else holds its place: as the stores compute it.
pub(crate) fn view(ledger: &[Entry], key: u8) -> LedgerView {
    let own = ledger
        .iter()
        .filter(|entry| entry.key == key)
        .filter(|entry| entry.kind.stands())
        .max_by_key(|entry| entry.generation)
        .map(|entry| Standing {
            kind: entry.kind,
            fingerprint: fingerprint(entry.fingerprint),
            entry: reference(entry),
            alias: None,
        });
    let place = holder(ledger).filter(|entry| entry.key != key).map(reference);
    LedgerView { own, place }
}

/// The entry that holds the place: the one with as many predecessors as were freed.
pub(crate) fn holder(ledger: &[Entry]) -> Option<&Entry> {
    let freed = ledger.iter().filter(|entry| entry.frees_place).count();
    ledger.iter().filter(|entry| entry.takes_place).nth(freed)
}

fn reference(entry: &Entry) -> LedgerRef {
    LedgerRef {
        key: String::new(),
        generation: entry.generation.into(),
        action: String::new(),
        step_id: None,
        run_id: None,
        recorded_at: timestamp(0),
    }
}

pub(crate) fn small(number: u32) -> u8 {
    u8::try_from(number).expect("a counter of the model")
}

/// Milliseconds of one tick of the model.
const TICK: u64 = 1000;
