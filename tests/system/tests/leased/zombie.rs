//! Workers that are stopped past the end of their lease, and go on.

use std::pin::pin;
use std::time::{Duration, Instant};

use idem::{Done, Effect, ErrorKind, Recovery};
use idem_system_tests::Postgres;

use crate::crash::{At, LEASE, RERUN, Scene};
use crate::downstream::Memory;
use crate::stage::{COMPLETED, Database, EXECUTED, HELD, INTENDED, Receipt, Stage, UNKNOWN, on_both, resolve};
use crate::worker::{Answer, answer, tell};
use idem_system_tests::process::Child;

on_both!(
    a_zombie_reports_what_its_successor_did,
    a_zombie_that_calls_late_is_known_by_its_key,
    a_held_zombie_completes_late,
    a_zombie_cannot_undo_what_was_resolved,
    a_zombie_is_known_by_its_token_where_its_attempt_has_the_same_number,
    a_zombie_that_nobody_succeeded_goes_on,
    a_zombie_that_is_killed_leaves_an_unknown_outcome,
);

/// A worker that was stopped in the middle of its call, until its lease had ended.
async fn stopped<D: Database>(scene: &Scene<D>) -> Child {
    let mut worker = scene.orders.start();
    tell(&mut worker, &scene.input, LEASE / 2);
    scene.downstream.wait_for_requests(1);
    worker.pause();
    tokio::time::sleep(LEASE + LEASE / 8).await;
    worker
}

async fn a_zombie_reports_what_its_successor_did<D: Database>() {
    let scene = Scene::<D>::new(Memory::Always, RERUN).await;
    let mut zombie = stopped(&scene).await;
    let receipt = Receipt {
        number: 1,
        attempt: 2,
        cents: 1000,
    };
    assert_eq!(scene.answer().await.expect("it is taken over"), Done::Executed(receipt));

    zombie.resume();
    // Its own receipt would be of attempt 1.
    assert_eq!(answer(&mut zombie), ("o-1".into(), Answer::Replayed(receipt)));
    assert_eq!(scene.ask().await.expect("it stands"), Done::Replayed(receipt));
    assert_eq!(scene.calls(), (2, 1));
    assert_eq!((scene.number(INTENDED).await, scene.number(EXECUTED).await), (2, 1));
}

/// Only the downstream key stops a process that goes on after its claim and has not called yet.
async fn a_zombie_that_calls_late_is_known_by_its_key<D: Database>() {
    let scene = Scene::<D>::new(Memory::Always, RERUN).await;
    let mut zombie = scene.orders.start();
    // Stopped wherever it is by then: before the claim, between claim and call, or later.
    tell(&mut zombie, &scene.input, Duration::ZERO);
    while scene.number(INTENDED).await == 0 {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    zombie.pause();
    tokio::time::sleep(LEASE + LEASE / 8).await;
    // Stopped in the middle of a transaction, it may keep a file to itself.
    let mut asked = pin!(scene.answer());
    let early = tokio::time::timeout(2 * LEASE, &mut asked).await;
    zombie.resume();
    let done = match early {
        Ok(done) => done,
        Err(_) => asked.await,
    };
    let done = done.expect("it is taken over or replays").into_inner();
    let (_, answer) = answer(&mut zombie);
    assert!(
        answer == Answer::Executed(done) || answer == Answer::Replayed(done),
        "{answer:?}"
    );
    assert_eq!(scene.calls().1, 1);
    assert_eq!(scene.number(EXECUTED).await, 1);
}

async fn a_held_zombie_completes_late<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    let mut zombie = stopped(&scene).await;
    scene.is_unknown().await;
    assert_eq!((scene.number(HELD).await, scene.number(UNKNOWN).await), (1, 1));

    zombie.resume();
    let receipt = Receipt {
        number: 1,
        attempt: 1,
        cents: 1000,
    };
    assert_eq!(answer(&mut zombie), ("o-1".into(), Answer::Executed(receipt)));
    assert_eq!(scene.answer().await.expect("it is known now"), Done::Replayed(receipt));
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!((scene.number(EXECUTED).await, scene.number(UNKNOWN).await), (1, 1));
}

async fn a_zombie_cannot_undo_what_was_resolved<D: Database>() {
    let receipt = Receipt {
        number: 77,
        attempt: 1,
        cents: 1000,
    };
    for (resolution, told) in [
        (Some(receipt), Answer::Replayed(receipt)),
        // Its own receipt must not pass for what stands, and nothing stands.
        (None, Answer::Refused("LostClaim".into())),
    ] {
        let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
        let mut zombie = stopped(&scene).await;
        scene.is_unknown().await;
        resolve(&scene.idem, &scene.input, resolution).await;
        zombie.resume();
        assert_eq!(answer(&mut zombie).1, told);
        let happened = i64::from(resolution.is_some());
        assert_eq!(scene.number(EXECUTED).await, happened, "its own completion is stale");
        assert_eq!(scene.number(COMPLETED).await, happened);
    }
}

async fn a_zombie_is_known_by_its_token_where_its_attempt_has_the_same_number<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    let mut zombie = stopped(&scene).await;
    scene.is_unknown().await;
    resolve(&scene.idem, &scene.input, None).await;
    // What is known not to have happened is forgotten after its retention, and attempts are counted anew.
    scene.idem.store().pass(Duration::from_secs(91 * 24 * 3600)).await;
    let mut successor = scene.orders.start();
    tell(&mut successor, &scene.input, 2 * LEASE);
    scene.downstream.wait_for_requests(2);
    zombie.resume();
    assert_eq!(answer(&mut zombie).1, Answer::Refused("InFlight".into()));
    let receipt = Receipt {
        number: 2,
        attempt: 1,
        cents: 1000,
    };
    assert_eq!(answer(&mut successor).1, Answer::Executed(receipt));
}

async fn a_zombie_that_nobody_succeeded_goes_on<D: Database>() {
    for recovery in [RERUN, Recovery::Hold] {
        let scene = Scene::<D>::new(Memory::Never, recovery).await;
        let mut zombie = stopped(&scene).await;
        zombie.resume();
        let (_, answer) = answer(&mut zombie);
        assert!(matches!(answer, Answer::Executed(_)), "{answer:?}");
        assert_eq!(scene.calls(), (1, 1));
        assert_eq!(scene.number(UNKNOWN).await, 0);
    }
}

async fn a_zombie_that_is_killed_leaves_an_unknown_outcome<D: Database>() {
    let scene = Scene::<D>::new(Memory::Never, Recovery::Hold).await;
    let zombie = stopped(&scene).await;
    scene.is_unknown().await;
    assert!(zombie.kill().was_killed());
    scene.is_unknown().await;
    assert_eq!(scene.calls(), (1, 1));
    assert_eq!(scene.number(UNKNOWN).await, 1);
}

/// An owner may come back between the moment when another process sees that its lease has ended, and the moment when that
/// process writes so. A lock on the record makes this moment long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_comes_back_in_time_is_not_held() {
    let scene = Scene::<Postgres>::new(Memory::Never, Recovery::Hold).await;
    scene.kill_at(At::Call);
    tokio::time::sleep(LEASE + LEASE / 8).await;
    let pool = scene.idem.store().pool();
    let mut owner = pool.begin().await.expect("a transaction");
    let lock = "SELECT 1 FROM idem_record FOR UPDATE";
    sqlx::query(lock).execute(&mut *owner).await.expect("locked");

    let mut asked = pin!(scene.ask());
    let early = tokio::time::timeout(LEASE / 2, &mut asked).await;
    assert!(early.is_err(), "the record is locked: {early:?}");
    let renew = "UPDATE idem_record SET lease_until = now() + interval '1 hour'";
    sqlx::query(renew).execute(&mut *owner).await.expect("renewed");
    owner.commit().await.expect("committed");
    let error = asked.await.expect_err("the owner is back");
    assert_eq!(error.kind(), ErrorKind::InFlight, "{error:?}");
    assert_eq!((scene.number(HELD).await, scene.number(UNKNOWN).await), (0, 0));
}

/// A storage that does not answer keeps nobody from learning that the lease has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_cannot_be_renewed_is_lost_at_its_end() {
    let scene = Scene::<Postgres>::new(Memory::Never, RERUN).await;
    let pool = scene.idem.store().pool().clone();
    let began = Instant::now();
    let effect = async move |effect: Effect| {
        let mut locks = pool.begin().await?;
        let lock = "SELECT 1 FROM idem_record FOR UPDATE";
        sqlx::query(lock).execute(&mut *locks).await?;
        let told = tokio::time::timeout(5 * LEASE, effect.lost()).await;
        locks.rollback().await?;
        Ok(told.is_ok())
    };
    let done = scene.idem.run(&scene.input, RERUN, effect).await;
    assert!(
        done.expect("nobody took over").into_inner(),
        "told that the lease was lost"
    );
    assert!(began.elapsed() < 3 * LEASE, "{:?}", began.elapsed());
}
