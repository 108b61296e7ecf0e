//! Cases from the field, as far as they are the store's. Their numbers are in the names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use idem::{Done, Effect, Error, ErrorKind, Idem, PgStore, Recovery, Settings};
use idem_system_tests::{postgres, process};
use tokio::sync::Barrier;

use crate::crash::{At, LEASE, RERUN, Scene};
use crate::downstream::Memory;
use crate::stage::{
    CREATE_PAYOUTS, Charge, Database, EXECUTED, INTENDED, PAYOUTS, RECORDS, Stage, UNKNOWN, downstream_key, front,
    on_both,
};
use crate::worker::{PAYS_AND_HANGS, answer, tell};

on_both!(
    b26_a_lost_insert_race_is_never_an_outage,
    b26_a_unique_violation_of_the_users_own_table_is_the_effects_error,
    b28_after_a_crash_a_key_is_in_flight_to_the_end_of_its_lease_and_no_longer,
    b28_a_lease_of_zero_is_refused,
    b29_a_call_that_hung_past_its_lease_is_not_sent_again_unless_that_was_declared,
    b29_a_transaction_that_hung_and_was_killed_runs_again,
    b38_a_completed_call_replays_after_a_long_stop,
    b38_an_expired_call_is_already_executed,
    b38_a_retention_below_the_replay_window_is_refused,
);

const RACERS: usize = 32;
const HOUR: Duration = Duration::from_secs(3600);

async fn b26_a_lost_insert_race_is_never_an_outage<D: Database>() {
    let database = D::fresh();
    // Each as if in a process of its own: the registry of a process would hide the race from the store.
    let mut doors = Vec::new();
    for _ in 0..4 {
        let store = D::Store::attach(&database.address()).await;
        doors.extend((0..RACERS / 4).map(|_| Idem::new(store.clone())));
    }
    race(&doors).await;
    // And all of them in one.
    let door = front::<D::Store>(&database.address(), LEASE).await;
    race(&vec![door; RACERS]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b26_a_lost_insert_race_is_never_an_outage_without_advisory_locks() {
    let database = postgres();
    let store = PgStore::attach(database.url()).await.advisory_locks(false);
    let doors: Vec<_> = (0..RACERS).map(|_| Idem::new(store.clone())).collect();
    race(&doors).await;
}

/// Has all of them ask for the same at once, several times over.
async fn race<S: Stage>(doors: &[Idem<S>]) {
    static ORDERS: AtomicU32 = AtomicU32::new(0);
    for _ in 0..5 {
        let order = format!("o-{}", ORDERS.fetch_add(1, Ordering::Relaxed));
        let (barrier, calls) = (Arc::new(Barrier::new(RACERS)), Arc::new(AtomicU32::new(0)));
        let racers: Vec<_> = doors
            .iter()
            .map(|idem| {
                let (idem, barrier, calls) = (idem.clone(), Arc::clone(&barrier), Arc::clone(&calls));
                let input = Charge::new(&order, 1000);
                tokio::spawn(async move {
                    barrier.wait().await;
                    let effect = async move |_: Effect| {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        Ok(calls.fetch_add(1, Ordering::SeqCst) + 1)
                    };
                    idem.run(&input, Recovery::Hold, effect).await
                })
            })
            .collect();
        let mut executed = 0;
        for racer in racers {
            match racer.await.expect("no panic") {
                Ok(Done::Executed(1)) => executed += 1,
                Ok(Done::Replayed(1)) => {}
                Err(error) if error.kind() == ErrorKind::InFlight => {
                    assert!(error.retry_after().is_some_and(|after| !after.is_zero()), "{error:?}");
                }
                other => panic!("a race was answered with {other:?}"),
            }
        }
        assert_eq!((executed, calls.load(Ordering::SeqCst)), (1, 1));
    }
}

async fn b26_a_unique_violation_of_the_users_own_table_is_the_effects_error<D: Database>() {
    let database = D::fresh();
    let idem = front::<D::Store>(&database.address(), LEASE).await;
    idem.store().execute(CREATE_PAYOUTS).await.expect("created");
    let others = "INSERT INTO payouts (order_id) VALUES ('o-1')";
    idem.store().execute(others).await.expect("inserted");

    let input = Charge::new("o-1", 1000);
    let pay = async || {
        idem.transaction(
            &input,
            async |tx: &mut <D::Store as idem::TransactionalStore>::Connection| {
                D::Store::pay(tx, "o-1").await?;
                Ok(())
            },
        )
        .await
    };
    for _ in 0..2 {
        let error = pay().await.expect_err("the table has the row");
        assert_eq!(error.kind(), ErrorKind::Effect, "{error:?}");
        let source = error
            .effect_ref::<sqlx::Error>()
            .and_then(sqlx::Error::as_database_error);
        assert!(source.is_some_and(|source| source.is_unique_violation()), "{error:?}");
        assert_eq!(idem.store().number(RECORDS).await, 0);
    }
    idem.store().execute("DELETE FROM payouts").await.expect("deleted");
    assert_eq!(pay().await.expect("it runs"), Done::Executed(()));
}

async fn b28_after_a_crash_a_key_is_in_flight_to_the_end_of_its_lease_and_no_longer<D: Database>() {
    let lease = 3 * LEASE;
    for recovery in [RERUN, Recovery::Hold] {
        let scene = Scene::<D>::with_lease(Memory::Always, recovery, lease).await;
        let mut worker = scene.orders.start_for("claimed");
        tell(&mut worker, &scene.input, Duration::ZERO);
        worker.wait_for("at claimed");
        let claimed = Instant::now();
        assert!(worker.kill().was_killed());

        let most = lease.saturating_sub(claimed.elapsed()) + Duration::from_millis(1);
        let error = scene.ask().await.expect_err("the lease runs");
        assert_eq!(error.kind(), ErrorKind::InFlight, "{error:?}");
        let after = error.retry_after().expect("the lease tells");
        assert!(!after.is_zero() && after <= most, "{after:?} of at most {most:?}");

        tokio::time::sleep(after + Duration::from_millis(2)).await;
        match recovery {
            Recovery::Hold => assert_eq!(kind(scene.ask().await), ErrorKind::OutcomeUnknown),
            Recovery::Rerun { .. } => assert!(!scene.ask().await.expect("it runs").is_replayed()),
        }
    }
}

async fn b28_a_lease_of_zero_is_refused<D: Database>() {
    let database = D::fresh();
    let store = D::Store::attach(&database.address()).await;
    for lease in [Duration::ZERO, Duration::from_micros(900)] {
        let error = Idem::with_settings(store.clone(), Settings::default().lease(lease)).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Misuse));
    }
}

async fn b29_a_call_that_hung_past_its_lease_is_not_sent_again_unless_that_was_declared<D: Database>() {
    for recovery in [Recovery::Hold, RERUN] {
        let scene = Scene::<D>::new(Memory::Always, recovery).await;
        let mut hung = scene.orders.start();
        tell(&mut hung, &scene.input, LEASE / 2);
        scene.downstream.wait_for_requests(1);
        hung.pause();
        tokio::time::sleep(LEASE + LEASE / 8).await;
        let key = downstream_key(&scene.idem, &scene.input);
        match recovery {
            Recovery::Hold => {
                scene.is_unknown().await;
                assert_eq!(scene.calls(), (1, 1));
            }
            Recovery::Rerun { .. } => {
                assert!(!scene.answer().await.expect("it is sent again").is_replayed());
                assert_eq!(scene.calls(), (2, 1));
            }
        }
        // Whoever called, it was under this one key.
        assert_eq!(scene.downstream.report().into_keys().collect::<Vec<_>>(), [key]);
        hung.resume();
        answer(&mut hung);
        assert_eq!(scene.number(EXECUTED).await, 1);
    }
}

async fn b29_a_transaction_that_hung_and_was_killed_runs_again<D: Database>() {
    let database = D::fresh();
    let idem = front::<D::Store>(&database.address(), LEASE).await;
    idem.store().execute(CREATE_PAYOUTS).await.expect("created");
    let mut hung = process::role(PAYS_AND_HANGS)
        .with("DATABASE", database.address())
        .with("LEASE", LEASE.as_millis())
        .start();
    hung.wait_for("inside");
    tokio::time::sleep(2 * LEASE).await;
    assert!(hung.kill().was_killed());

    let input = Charge::new("o-1", 1000);
    let call = idem.call(&input).wait(Duration::from_secs(30));
    let done = call
        .transaction(async |tx: &mut <D::Store as idem::TransactionalStore>::Connection| {
            D::Store::pay(tx, "o-1").await?;
            Ok(())
        })
        .await;
    assert_eq!(done.expect("nothing was committed, so it runs"), Done::Executed(()));
    assert_eq!(idem.store().number(PAYOUTS).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_a_transaction_that_hangs_loses_its_claim_to_the_idle_time_out() {
    let database = postgres();
    let store = PgStore::attach(database.url()).await;
    store.execute(CREATE_PAYOUTS).await.expect("created");
    let impatient = Idem::new(store.clone().idle_in_transaction_timeout(LEASE));
    let input = Charge::new("o-1", 1000);
    let hangs = impatient.transaction(&input, async |tx: &mut sqlx::PgConnection| {
        PgStore::pay(tx, "o-1").await?;
        tokio::time::sleep(3 * LEASE).await;
        Ok(())
    });
    let next = async {
        tokio::time::sleep(LEASE / 4).await;
        let other = Idem::new(store.clone());
        let call = other.call(&input).wait(Duration::from_secs(30));
        call.transaction(async |tx: &mut sqlx::PgConnection| {
            PgStore::pay(tx, "o-1").await?;
            Ok(())
        })
        .await
    };
    let (hung, next) = tokio::join!(hangs, next);
    assert_eq!(next.expect("it runs"), Done::Executed(()));
    // It is sent again by itself after its connection broke, and finds what stands.
    assert!(hung.is_err() || hung.as_ref().is_ok_and(Done::is_replayed), "{hung:?}");
    assert_eq!((store.number(PAYOUTS).await, store.number(EXECUTED).await), (1, 1));
}

async fn b38_a_completed_call_replays_after_a_long_stop<D: Database>() {
    let mut scene = Scene::<D>::new(Memory::Never, RERUN).await;
    scene.kill_at(At::Completed);
    scene.idem.store().pass(6 * HOUR).await;
    scene.idem = front(&scene.orders.database, LEASE).await;
    assert!(scene.ask().await.expect("it is kept").is_replayed());
    assert_eq!(scene.calls(), (1, 1));
}

async fn b38_an_expired_call_is_already_executed<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, RERUN).await;
    scene.kill_at(At::Completed);
    scene.idem.store().pass(91 * 24 * HOUR).await;
    for _ in 0..2 {
        assert_eq!(kind(scene.ask().await), ErrorKind::AlreadyExecuted);
    }
    // Nor after it was swept.
    let sweep = "DELETE FROM idem_record";
    scene.idem.store().execute(sweep).await.expect("deleted");
    assert_eq!(kind(scene.ask().await), ErrorKind::AlreadyExecuted);
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!((scene.number(INTENDED).await, scene.number(UNKNOWN).await), (1, 0));
}

async fn b38_a_retention_below_the_replay_window_is_refused<D: Database>() {
    let database = D::fresh();
    let store = D::Store::attach(&database.address()).await;
    let day = Settings::default().replay_window(24 * HOUR);
    let error = Idem::with_settings(store.clone(), day.clone().retention(HOUR)).err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Misuse));

    let idem = Idem::with_settings(store, day).expect("90 days are enough");
    let input = Charge::new("o-1", 1000);
    let run = async |retention, remembered_for| {
        let call = idem.call(&input).retention(retention);
        call.run(Recovery::Rerun { remembered_for }, async |_: Effect| Ok(()))
            .await
    };
    for (retention, remembered_for) in [(HOUR, HOUR), (25 * HOUR, 26 * HOUR)] {
        assert_eq!(kind(run(retention, remembered_for).await), ErrorKind::Misuse);
    }
    assert_eq!(idem.store().number(RECORDS).await, 0);
    assert_eq!(
        run(25 * HOUR, 25 * HOUR).await.expect("it is long enough"),
        Done::Executed(())
    );
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.expect_err("an error").kind()
}
