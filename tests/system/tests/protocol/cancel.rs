//! Callers that go away in the middle of a call, and the connection they leave behind.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use idem::{Begun, Idem, PgStore, SqliteStore, Store as _};
use idem_system_tests::wire::{At, Proxy};
use idem_system_tests::{postgres, sqlite};
use sqlx::{Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool};

use crate::stage::{BUSY, Database, Dice, Effects, no_effect_twice, pay, payout};
use crate::support::{Receipt, Refund};

const ROUNDS: usize = 500;

/// CASES B32.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_a_cancelled_call_leaves_a_clean_connection_on_postgres() {
    let database = postgres();
    let idem = database.front(1).await;
    let pool = idem.store().pool();
    let beside = database.pool(1).await;
    sqlx::query("CREATE TABLE borrowed (round int)")
        .execute(&beside)
        .await
        .expect("created");

    let mut dice = Dice::new(32);
    let mut cancelled = 0;
    for round in 0..ROUNDS {
        let refund = Refund::new(&format!("case-{}", dice.below(100)), 1000);
        let when = When::random(&mut dice);
        let gone = match round % 5 {
            0..3 => cancelled_call(&idem, &refund, when).await,
            3 => cancelled_guard(&idem, &refund, when).await,
            _ => {
                let mut transaction = pool.begin().await.expect("begun");
                let call = idem.call(&refund);
                let join = call.join(&mut *transaction, async |tx: &mut PgConnection| {
                    payout::<PgStore>(tx, &refund).await
                });
                let gone = when.cancels(join).await.is_none();
                // A claim that is left without its outcome cannot be committed.
                if let Err(error) = transaction.commit().await {
                    let code = error.as_database_error().and_then(|error| error.code());
                    assert!(gone && code.as_deref() == Some("23503"), "round {round}: {error:?}");
                }
                gone
            }
        };
        cancelled += usize::from(gone);
        assert_postgres_is_clean(pool, &beside, round).await;
    }
    assert!(
        (50..ROUNDS).contains(&cancelled),
        "{cancelled} of {ROUNDS} were cancelled, so little was tested"
    );
    no_effect_twice(&idem).await;
}

/// CASES B32.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_a_cancelled_call_leaves_a_clean_connection_on_sqlite() {
    let database = sqlite();
    let idem = database.front(1).await;
    let pool = idem.store().pool();
    let second = SqliteStore::attach(&database.url(), 1, Duration::from_millis(500)).await;
    let beside = second.pool();
    sqlx::query("CREATE TABLE borrowed (round int)")
        .execute(beside)
        .await
        .expect("created");

    let mut dice = Dice::new(32);
    let mut cancelled = 0;
    for round in 0..ROUNDS {
        let refund = Refund::new(&format!("case-{}", dice.below(100)), 1000);
        let when = When::random(&mut dice);
        let gone = match round % 5 {
            0..3 => cancelled_call(&idem, &refund, when).await,
            3 => cancelled_guard(&idem, &refund, when).await,
            _ => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.expect("begun");
                let call = idem.call(&refund);
                let join = call.join(&mut *transaction, async |tx: &mut SqliteConnection| {
                    payout::<SqliteStore>(tx, &refund).await
                });
                let gone = when.cancels(join).await.is_none();
                // A claim that is left without its outcome cannot be committed.
                if let Err(error) = transaction.commit().await {
                    let code = error.as_database_error().and_then(|error| error.code());
                    assert!(gone && code.as_deref() == Some("787"), "round {round}: {error:?}");
                }
                gone
            }
        };
        cancelled += usize::from(gone);
        assert_sqlite_is_clean(pool, beside, round).await;
    }
    assert!(
        (50..ROUNDS).contains(&cancelled),
        "{cancelled} of {ROUNDS} were cancelled, so little was tested"
    );
    no_effect_twice(&idem).await;
}

/// When a caller goes away: after a time or after so many polls, whichever comes first. The time hits what takes long,
/// the polls hit every step of a call that takes a fraction of a millisecond.
#[derive(Clone, Copy)]
struct When {
    time: Duration,
    polls: u64,
}

impl When {
    fn random(dice: &mut Dice) -> Self {
        let time = Duration::from_micros(dice.below(5000));
        let polls = if dice.below(2) == 0 {
            u64::MAX
        } else {
            1 + dice.below(16)
        };
        Self { time, polls }
    }

    /// Runs a future, and drops it when the time has come.
    async fn cancels<F: Future>(self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut polls = 0;
        let counted = poll_fn(|context| {
            polls += 1;
            match future.as_mut().poll(context) {
                Poll::Pending if polls >= self.polls => Poll::Ready(None),
                poll => poll.map(Some),
            }
        });
        tokio::time::timeout(self.time, counted).await.ok().flatten()
    }
}

/// Whether the caller went away before the answer.
async fn cancelled_call<S: Effects>(idem: &Idem<S>, refund: &Refund, when: When) -> bool {
    match when.cancels(pay(idem, refund, Duration::ZERO)).await {
        Some(done) => {
            done.expect("the call before it has ended, one way or the other");
            false
        }
        None => true,
    }
}

async fn cancelled_guard<S: Effects>(idem: &Idem<S>, refund: &Refund, when: When) -> bool {
    let whole = async {
        let Ok(Begun::Execute(mut guard)) = idem.call(refund).begin::<Receipt>().await else {
            return;
        };
        let receipt = payout::<S>(guard.connection(), refund).await.expect("the effect");
        if receipt.nonce % 2 == 0 {
            guard.complete(receipt).await.expect("completed");
        }
    };
    when.cancels(whole).await.is_none()
}

/// The next one to borrow the connection finds it outside of any transaction.
async fn assert_postgres_is_clean(pool: &PgPool, beside: &PgPool, round: usize) {
    let mut connection = pool.acquire().await.expect("a connection");
    assert!(
        !connection.is_in_transaction(),
        "round {round}: the driver counts a transaction as open"
    );
    sqlx::query("INSERT INTO borrowed VALUES ($1)")
        .bind(i32::try_from(round).expect("small"))
        .execute(&mut *connection)
        .await
        .expect("inserted");
    let (seen, idle): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM borrowed), (SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%')",
    )
    .fetch_one(beside)
    .await
    .expect("read");
    assert_eq!(
        seen,
        round as i64 + 1,
        "round {round}: an insert was acknowledged and not committed"
    );
    assert_eq!(idle, 0, "round {round}: a session is idle in a transaction");
}

async fn assert_sqlite_is_clean(pool: &SqlitePool, beside: &SqlitePool, round: usize) {
    let mut connection = pool.acquire().await.expect("a connection");
    assert!(
        !connection.is_in_transaction(),
        "round {round}: the driver counts a transaction as open"
    );
    sqlx::query("INSERT INTO borrowed VALUES ($1)")
        .bind(i32::try_from(round).expect("small"))
        .execute(&mut *connection)
        .await
        .expect("inserted");
    // Nobody holds the file: another connection can write while this one is borrowed.
    let mut writer = beside.begin_with("BEGIN IMMEDIATE").await.expect("the file is free");
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM borrowed")
        .fetch_one(&mut *writer)
        .await
        .expect("read");
    assert_eq!(
        seen,
        round as i64 + 1,
        "round {round}: an insert was acknowledged and not committed"
    );
    writer.rollback().await.expect("rolled back");
}

/// Cancels a call exactly while a statement is under way: sent and not arrived, or done and not known to be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_cancelled_while_a_statement_is_under_way_it_is_done_or_not_and_the_next_call_knows() {
    let database = postgres();
    let direct = database.front(1).await;
    let wire = database.wire();
    let idem = Idem::new(PgStore::new(wire.pool(1).await));
    for statement in ["BEGIN", "WITH held", "INSERT INTO payouts", "WITH completed", "COMMIT"] {
        for (side, at) in [("before", At::before(statement)), ("after", At::after(statement))] {
            let place = format!("{side} {statement}");
            // A connection that has prepared all statements.
            let other = Refund::new(&format!("warm {place}"), 1);
            pay(&idem, &other, Duration::ZERO).await.expect("a warm connection");

            let refund = Refund::new(&place, 1000);
            wire.hold(at);
            {
                let mut call = pin!(pay(&idem, &refund, Duration::ZERO));
                tokio::select! {
                    done = &mut call => panic!("answered although it is held {place}: {done:?}"),
                    () = struck(&wire) => {}
                }
                // The caller goes away here.
            }
            wire.release();

            // The connection comes back, and what was under way on it has ended.
            let mut connection = idem.store().pool().acquire().await.expect("a connection");
            assert!(!connection.is_in_transaction(), "{place}");
            sqlx::query("SELECT 1")
                .execute(&mut *connection)
                .await
                .expect("it is usable");
            drop(connection);
            let committed = statement == "COMMIT";
            assert_eq!(nonces(&direct, &place).await.len(), usize::from(committed), "{place}");
            let key = idem.call(&refund).key().expect("a key");
            let view = direct.store().view(&key, None).await.expect("read");
            assert_eq!(view.record.is_some(), committed, "{place}");

            let done = pay(&idem, &refund, Duration::ZERO).await;
            let done = done.unwrap_or_else(|error| panic!("{place}: {error:?}"));
            assert_eq!(done.is_replayed(), committed, "{place}");
            let nonce = i64::try_from(done.get().nonce).expect("small");
            assert_eq!(nonces(&direct, &place).await, [nonce], "{place}");
        }
    }
    no_effect_twice(&direct).await;
}

async fn nonces(idem: &Idem<PgStore>, case_id: &str) -> Vec<i64> {
    sqlx::query_scalar("SELECT nonce FROM payouts WHERE case_id = $1")
        .bind(case_id)
        .fetch_all(idem.store().pool())
        .await
        .expect("read")
}

/// Waits until the fault of a wire has struck, without blocking the task.
async fn struck(wire: &Proxy) {
    while !wire.has_struck() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A caller that goes away takes nobody else's turn with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_a_cancelled_writer_of_sqlite_leaves_the_turn_to_the_next() {
    let database = sqlite();
    let idem = database.front(5).await;
    for round in 0..20 {
        let (one, two) = (
            Refund::new(&format!("a-{round}"), 1),
            Refund::new(&format!("b-{round}"), 1),
        );
        let Ok(Begun::Execute(guard)) = idem.call(&one).begin::<Receipt>().await else {
            panic!("a new key is claimed");
        };
        // It waits for its turn, and is dropped while it waits.
        let waiting = tokio::time::timeout(Duration::from_millis(5), pay(&idem, &two, Duration::ZERO)).await;
        assert!(waiting.is_err(), "{waiting:?}");
        drop(guard);
        let done = tokio::time::timeout(BUSY, pay(&idem, &two, Duration::ZERO)).await;
        assert!(!done.expect("its turn comes").expect("it runs").is_replayed());
    }
    no_effect_twice(&idem).await;
}
