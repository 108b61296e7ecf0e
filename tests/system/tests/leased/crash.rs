//! Workers that are killed at each point of the protocol.
//!
//! | killed | under `Rerun` | under `Hold` |
//! |---|---|---|
//! | after the claim, before the call | the next attempt calls | unknown, never called |
//! | after the call, before its acknowledgement | the next attempt calls with the same key | unknown, called once |
//! | after the acknowledgement, before the completion | the next attempt calls with the same key | unknown, called once |
//! | after the completion, before the answer | replays | replays |

use std::time::Duration;

use idem::{Done, Error, ErrorKind, Idem, Recovery};
use idem_system_tests::process::Child;

use crate::downstream::{Downstream, Memory};
use crate::stage::{
    COMPLETED, Charge, Database, EXECUTED, HELD, INTENDED, RECORDS, Receipt, Stage, UNKNOWN, ask, ask_until_answered,
    front, on_both, resolve,
};
use crate::worker::{Orders, tell};

/// Long enough for a busy machine, short enough to wait for its end.
pub const LEASE: Duration = Duration::from_millis(800);
/// Longer than any test.
pub const FOR_GOOD: Duration = Duration::from_secs(600);
pub const RERUN: Recovery = Recovery::Rerun {
    remembered_for: Duration::from_secs(3600),
};

/// One call, its database, its downstream, and another process that may ask for the same.
pub struct Scene<D: Database> {
    pub idem: Idem<D::Store>,
    pub downstream: Downstream,
    pub orders: Orders,
    pub input: Charge,
    // Dropped after the connections.
    _database: D,
}

impl<D: Database> Scene<D> {
    pub async fn new(memory: Memory, recovery: Recovery) -> Self {
        Self::with_lease(memory, recovery, LEASE).await
    }

    pub async fn with_lease(memory: Memory, recovery: Recovery, lease: Duration) -> Self {
        let database = D::fresh();
        let downstream = Downstream::start(memory);
        Self {
            idem: front(&database.address(), lease).await,
            orders: Orders {
                database: database.address(),
                port: downstream.port(),
                lease,
                recovery,
            },
            downstream,
            input: Charge::new("o-1", 1000),
            _database: database,
        }
    }

    /// Asks once.
    pub async fn ask(&self) -> Result<Done<Receipt>, Error> {
        let Orders { recovery, port, .. } = self.orders;
        ask(&self.idem, &self.input, recovery, port, Duration::ZERO).await
    }

    /// Asks until nobody is said to be in flight.
    pub async fn answer(&self) -> Result<Done<Receipt>, Error> {
        let Orders { recovery, port, .. } = self.orders;
        ask_until_answered(&self.idem, &self.input, recovery, port).await
    }

    pub async fn is_unknown(&self) {
        let error = self.answer().await.expect_err("nobody knows");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error:?}");
    }

    /// Requests and charges that the downstream has seen.
    pub fn calls(&self) -> (u32, u32) {
        let calls = self.downstream.total();
        (calls.requests, calls.charges)
    }

    /// A worker that was killed there, in the middle of the call.
    pub fn kill_at(&self, place: At) {
        let mut worker = self.orders.start_for(place.point());
        let delay = if place == At::Call { FOR_GOOD } else { Duration::ZERO };
        let requests = self.downstream.total().requests;
        tell(&mut worker, &self.input, delay);
        match place {
            At::Call => self.downstream.wait_for_requests(requests + 1),
            _ => worker.wait_for(&format!("at {}", place.point())),
        }
        assert!(Child::kill(worker).was_killed());
    }

    pub async fn number(&self, query: &'static str) -> i64 {
        self.idem.store().number(query).await
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    Claimed,
    Call,
    Acknowledged,
    Completed,
}

impl At {
    fn point(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Call => "-",
            Self::Acknowledged => "effect_done",
            Self::Completed => "completed",
        }
    }
}

on_both!(
    killed_before_the_call_a_rerun_charges_once,
    killed_before_the_acknowledgement_a_rerun_charges_once,
    killed_before_the_completion_a_rerun_charges_once,
    killed_before_the_answer_it_replays,
    killed_before_the_call_it_is_held_and_never_called,
    killed_before_the_acknowledgement_it_is_held,
    killed_before_the_completion_it_is_held,
    held_and_killed_before_the_answer_it_replays,
    killed_again_and_again_a_rerun_charges_once,
    beyond_the_horizon_nothing_is_sent_again,
    the_horizon_is_counted_from_the_first_attempt,
    an_attempt_that_had_no_effect_does_not_vouch_for_the_one_before,
    the_stricter_recovery_counts,
    a_slow_call_keeps_its_lease,
    a_claim_stands_or_falls_with_its_entry,
    a_completion_stands_or_falls_with_its_entry,
    an_unknown_outcome_stands_or_falls_with_its_entry,
);

async fn killed_before_the_call_a_rerun_charges_once<D: Database>() {
    a_rerun::<D>(At::Claimed, 1).await;
}

async fn killed_before_the_acknowledgement_a_rerun_charges_once<D: Database>() {
    a_rerun::<D>(At::Call, 2).await;
}

async fn killed_before_the_completion_a_rerun_charges_once<D: Database>() {
    a_rerun::<D>(At::Acknowledged, 2).await;
}

async fn a_rerun<D: Database>(place: At, requests: u32) {
    let scene = Scene::<D>::new(Memory::Always, RERUN).await;
    scene.kill_at(place);
    let receipt = Receipt {
        number: 1,
        attempt: 2,
        cents: 1000,
    };
    assert_eq!(scene.answer().await.expect("it runs again"), Done::Executed(receipt));
    assert_eq!(scene.answer().await.expect("it replays"), Done::Replayed(receipt));
    assert_eq!(scene.calls(), (requests, 1));
    assert_eq!(scene.number(INTENDED).await, 2, "one for each attempt");
    assert_eq!((scene.number(EXECUTED).await, scene.number(UNKNOWN).await), (1, 0));
}

async fn killed_before_the_answer_it_replays<D: Database>() {
    it_replays::<D>(RERUN).await;
}

async fn held_and_killed_before_the_answer_it_replays<D: Database>() {
    it_replays::<D>(Recovery::Hold).await;
}

async fn it_replays<D: Database>(recovery: Recovery) {
    let scene = Scene::<D>::new(Memory::Never, recovery).await;
    scene.kill_at(At::Completed);
    let receipt = Receipt {
        number: 1,
        attempt: 1,
        cents: 1000,
    };
    // At once: what is completed has no lease.
    assert_eq!(scene.ask().await.expect("it replays"), Done::Replayed(receipt));
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!((scene.number(INTENDED).await, scene.number(EXECUTED).await), (1, 1));
}

async fn killed_before_the_call_it_is_held_and_never_called<D: Database>() {
    it_is_held::<D>(At::Claimed, 0).await;
}

async fn killed_before_the_acknowledgement_it_is_held<D: Database>() {
    it_is_held::<D>(At::Call, 1).await;
}

async fn killed_before_the_completion_it_is_held<D: Database>() {
    it_is_held::<D>(At::Acknowledged, 1).await;
}

async fn it_is_held<D: Database>(place: At, calls: u32) {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    scene.kill_at(place);
    for _ in 0..3 {
        scene.is_unknown().await;
    }
    assert_eq!(scene.calls(), (calls, calls));
    assert_eq!((scene.number(HELD).await, scene.number(UNKNOWN).await), (1, 1));

    // Somebody looks at the downstream's books.
    let receipt = (calls == 1).then_some(Receipt {
        number: 1,
        attempt: 1,
        cents: 1000,
    });
    resolve(&scene.idem, &scene.input, receipt).await;
    let done = scene.answer().await.expect("it is known now");
    match receipt {
        Some(receipt) => assert_eq!(done, Done::Replayed(receipt)),
        None => assert!(!done.is_replayed(), "{done:?}"),
    }
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!((scene.number(HELD).await, scene.number(COMPLETED).await), (0, 1));
    assert_eq!(scene.number(EXECUTED).await, 1);
}

async fn killed_again_and_again_a_rerun_charges_once<D: Database>() {
    let scene = Scene::<D>::with_lease(Memory::Always, RERUN, LEASE / 2).await;
    let places = [At::Claimed, At::Call, At::Acknowledged, At::Call];
    for place in places {
        scene.kill_at(place);
        tokio::time::sleep(LEASE / 2 + LEASE / 8).await;
    }
    let done = scene.answer().await.expect("it runs again");
    assert_eq!((done.is_replayed(), done.get().attempt), (false, 5));
    assert_eq!(scene.calls(), (4, 1));
    assert_eq!((scene.number(INTENDED).await, scene.number(EXECUTED).await), (5, 1));
}

async fn beyond_the_horizon_nothing_is_sent_again<D: Database>() {
    let horizon = 3 * LEASE;
    let recovery = Recovery::Rerun {
        remembered_for: horizon,
    };
    let scene = Scene::<D>::new(Memory::For(horizon), recovery).await;
    scene.kill_at(At::Acknowledged);
    tokio::time::sleep(horizon).await;
    for _ in 0..2 {
        scene.is_unknown().await;
    }
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!((scene.number(HELD).await, scene.number(UNKNOWN).await), (1, 1));
}

async fn the_horizon_is_counted_from_the_first_attempt<D: Database>() {
    let horizon = 3 * LEASE;
    let recovery = Recovery::Rerun {
        remembered_for: horizon,
    };
    let scene = Scene::<D>::new(Memory::Always, recovery).await;
    scene.kill_at(At::Call);
    tokio::time::sleep(LEASE + LEASE / 8).await;
    // Within the horizon, and it leaves another lease that ends beyond it or a little before.
    scene.kill_at(At::Call);
    assert_eq!(scene.calls(), (2, 1));
    tokio::time::sleep(horizon - LEASE).await;
    scene.is_unknown().await;
    assert_eq!(scene.calls(), (2, 1));
    let of_the_second = "SELECT count(*) FROM idem_ledger WHERE kind = 'unknown' AND attempt = 2";
    assert_eq!(scene.number(of_the_second).await, 1);
}

async fn an_attempt_that_had_no_effect_does_not_vouch_for_the_one_before<D: Database>() {
    let horizon = 3 * LEASE;
    let recovery = Recovery::Rerun {
        remembered_for: horizon,
    };
    let scene = Scene::<D>::new(Memory::For(horizon), recovery).await;
    scene.kill_at(At::Call);
    tokio::time::sleep(LEASE + LEASE / 8).await;
    // Nobody listens there, so nothing happens.
    let error = ask(&scene.idem, &scene.input, recovery, 1, Duration::ZERO).await;
    let error = error.expect_err("nobody listens");
    assert!(error.kind() == ErrorKind::Effect && error.is_retryable(), "{error:?}");
    tokio::time::sleep(horizon).await;
    scene.is_unknown().await;
    assert_eq!(scene.calls(), (1, 1));
}

async fn the_stricter_recovery_counts<D: Database>() {
    for (stored, current) in [(RERUN, Recovery::Hold), (Recovery::Hold, RERUN)] {
        let mut scene = Scene::<D>::new(Memory::Always, stored).await;
        scene.kill_at(At::Call);
        scene.orders.recovery = current;
        scene.is_unknown().await;
        assert_eq!(scene.calls(), (1, 1), "{stored:?}, then {current:?}");
    }
}

async fn a_slow_call_keeps_its_lease<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    let mut worker = scene.orders.start();
    tell(&mut worker, &scene.input, 3 * LEASE);
    scene.downstream.wait_for_requests(1);
    let done = scene.answer().await.expect("the worker is waited for");
    assert_eq!((done.is_replayed(), done.get().attempt), (true, 1));
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!(scene.number(UNKNOWN).await, 0);
}

async fn a_claim_stands_or_falls_with_its_entry<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    scene.idem.store().refuse("intended").await;
    let error = scene.ask().await.expect_err("the ledger refuses");
    assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
    assert_eq!(scene.number(RECORDS).await, 0);
    assert_eq!(scene.calls(), (0, 0));
}

async fn a_completion_stands_or_falls_with_its_entry<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    scene.idem.store().refuse("executed").await;
    let error = scene.ask().await.expect_err("the ledger refuses");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error:?}");
    assert_eq!(scene.number(COMPLETED).await, 0);
    // And the claim is not released.
    scene.is_unknown().await;
    assert_eq!(scene.calls(), (1, 1));
}

async fn an_unknown_outcome_stands_or_falls_with_its_entry<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    scene.kill_at(At::Call);
    scene.idem.store().refuse("unknown").await;
    tokio::time::sleep(LEASE + LEASE / 8).await;
    let error = scene.ask().await.expect_err("the ledger refuses");
    assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
    assert_eq!(scene.number(HELD).await, 0);
    assert_eq!(scene.calls(), (1, 1));
}
