//! Processes that are killed or stopped at each point of the protocol.

use std::time::{Duration, Instant};

use idem::{Done, EffectError, ErrorKind, Idem};
use idem_system_tests::process::{self, Child};
use idem_system_tests::{Postgres, Sqlite, points};

use crate::stage::{
    Database, Effects, LONG, PAYOUTS, drawn_by, nothing_stands, on_both, on_the_named, one_effect, pay, payout,
};
use crate::support::{Receipt, Refund};

#[test]
fn child_process_entry() {
    process::host(&[
        ("pays and stops at a point", || on_the_named!(stops)),
        ("pays when told", || on_the_named!(pays_when_told)),
        ("declines and stops at a point", || on_the_named!(declines)),
    ]);
}

async fn stops<S: Effects>(idem: Idem<S>) {
    points::stop_at(&process::argument("POINT"), 1);
    let done = pay(&idem, &refund(), Duration::ZERO).await;
    process::say(format!("went on to {done:?}"));
}

async fn pays_when_told<S: Effects>(idem: Idem<S>) {
    let refund = refund();
    let done = idem
        .transaction(&refund, async |tx: &mut S::Connection| {
            let receipt = payout::<S>(tx, &refund).await?;
            process::say("inside");
            process::hear();
            Ok(receipt)
        })
        .await;
    process::say(format!("done {}", done.expect("it ends well").into_inner().nonce));
}

async fn declines<S: Effects>(idem: Idem<S>) {
    let nth = process::argument("NTH").parse().expect("a number");
    points::stop_at(&process::argument("POINT"), nth);
    let refund = refund();
    let done = idem
        .transaction(&refund, async |tx: &mut S::Connection| {
            payout::<S>(tx, &refund).await?;
            Err::<Receipt, _>(EffectError::final_(&format!("declined by {}", std::process::id())))
        })
        .await;
    process::say(format!("went on to {done:?}"));
}

on_both!(
    killed_after_begin_it_runs_again,
    killed_after_the_claim_it_runs_again,
    killed_inside_the_effect_it_runs_again,
    killed_before_commit_it_runs_again,
    killed_after_commit_it_replays,
    a_waiting_duplicate_takes_over_from_a_killed_owner,
    a_final_error_that_was_not_committed_is_forgotten,
    a_final_error_that_was_committed_is_replayed,
);

async fn killed_after_begin_it_runs_again<D: Database>() {
    killed_at::<D>("begun", false).await;
}

async fn killed_after_the_claim_it_runs_again<D: Database>() {
    killed_at::<D>("claimed", false).await;
}

async fn killed_inside_the_effect_it_runs_again<D: Database>() {
    killed_at::<D>("effect_done", false).await;
}

async fn killed_before_commit_it_runs_again<D: Database>() {
    killed_at::<D>("completed", false).await;
}

async fn killed_after_commit_it_replays<D: Database>() {
    killed_at::<D>("committed", true).await;
}

async fn killed_at<D: Database>(point: &str, committed: bool) {
    let database = D::fresh();
    let idem = database.front(5).await;
    let child = start(&database, "pays and stops at a point", &[("POINT", point)]);
    let owner = killed_once_at(child, point);

    // The server may take a moment to notice that the owner is gone.
    let done = pay(&idem, &refund(), LONG).await.expect("it runs or replays");
    let by = drawn_by(done.get().nonce);
    assert_eq!(
        (done.is_replayed(), by),
        if committed {
            (true, owner)
        } else {
            (false, std::process::id())
        }
    );
    one_effect(&idem, done.get()).await;

    // A third, on connections of its own, replays what the second was told.
    let other = database.front(1).await;
    let again = pay(&other, &refund(), Duration::ZERO).await.expect("it replays");
    assert_eq!(again, Done::Replayed(done.into_inner()));
    one_effect(&idem, again.get()).await;
}

async fn a_waiting_duplicate_takes_over_from_a_killed_owner<D: Database>() {
    let database = D::fresh();
    let idem = database.front(5).await;
    let mut owner = start(&database, "pays when told", &[]);
    owner.wait_for("inside");

    let refund = refund();
    let duplicate = pay(&idem, &refund, LONG);
    tokio::pin!(duplicate);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut duplicate).await;
    assert!(early.is_err(), "answered while the owner runs: {early:?}");

    assert!(owner.kill().was_killed());
    let done = duplicate.await.expect("the duplicate takes over");
    assert!(!done.is_replayed(), "{done:?}");
    assert_eq!(drawn_by(done.get().nonce), std::process::id());
    one_effect(&idem, done.get()).await;
}

async fn a_final_error_that_was_not_committed_is_forgotten<D: Database>() {
    // The second transaction claims for the second time and completes for the first.
    for (point, nth) in [("claimed", "2"), ("completed", "1")] {
        let database = D::fresh();
        let idem = database.front(5).await;
        let child = start(
            &database,
            "declines and stops at a point",
            &[("POINT", point), ("NTH", nth)],
        );
        killed_once_at(child, point);
        nothing_stands(&idem).await;

        let done = pay(&idem, &refund(), LONG).await.expect("it runs");
        assert!(!done.is_replayed(), "{done:?}");
        one_effect(&idem, done.get()).await;
    }
}

async fn a_final_error_that_was_committed_is_replayed<D: Database>() {
    let database = D::fresh();
    let idem = database.front(5).await;
    let child = start(
        &database,
        "declines and stops at a point",
        &[("POINT", "committed"), ("NTH", "1")],
    );
    let owner = killed_once_at(child, "committed");

    let error = pay(&idem, &refund(), LONG).await.expect_err("it was declined");
    assert_eq!(error.kind(), ErrorKind::Declined, "{error:?}");
    assert_eq!(
        error.declined::<String>().as_deref(),
        Some(&*format!("declined by {owner}"))
    );
    assert_eq!(idem.store().number(PAYOUTS).await, 0);
    let kinds = "SELECT count(*) FROM idem_ledger WHERE kind = 'declined'";
    assert_eq!(idem.store().number(kinds).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_duplicate_of_a_stopped_owner_is_told_at_once() {
    a_stopped_owner::<Postgres>(ErrorKind::InFlight).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_duplicate_of_a_stopped_owner_is_told_after_the_busy_timeout() {
    a_stopped_owner::<Sqlite>(ErrorKind::Store).await;
}

/// A stopped owner keeps its claim; a duplicate is told to come again, and when the owner goes on it is the one that ran.
async fn a_stopped_owner<D: Database>(expected: ErrorKind) {
    let database = D::fresh();
    let idem = database.front(5).await;
    let mut owner = start(&database, "pays when told", &[]);
    owner.wait_for("inside");
    owner.pause();

    let busy = Duration::from_millis(200);
    let impatient = Idem::new(D::Store::attach(&database.address(), 2, busy).await);
    let before = Instant::now();
    let answer = tokio::time::timeout(LONG, pay(&impatient, &refund(), Duration::ZERO)).await;
    let error = answer.expect("an answer while the owner is stopped").expect_err("busy");
    let took = before.elapsed();
    assert_eq!(error.kind(), expected, "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
    assert!(took < Duration::from_secs(3), "it was told after {took:?}");
    if expected == ErrorKind::Store {
        assert!(took >= busy, "it was told after {took:?}");
    }

    owner.resume();
    owner.tell("go on");
    let said = owner.wait().success();
    let done = pay(&impatient, &refund(), LONG).await.expect("it replays");
    assert!(done.is_replayed(), "{done:?}");
    assert_eq!(said, [format!("done {}", done.get().nonce)]);
    one_effect(&idem, done.get()).await;
}

fn refund() -> Refund {
    Refund::new("case-7", 1000)
}

fn start<D: Database>(database: &D, role: &str, arguments: &[(&str, &str)]) -> Child {
    let mut role = process::role(role).with("DATABASE", database.address());
    for (name, value) in arguments {
        role = role.with(name, value);
    }
    role.start()
}

/// Kills a child that has stopped at a point, and returns its number.
#[track_caller]
fn killed_once_at(mut child: Child, point: &str) -> u32 {
    child.wait_for(&format!("at {point}"));
    let owner = child.id();
    assert!(child.kill().was_killed());
    owner
}
