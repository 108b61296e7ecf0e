//! What the database undoes, and what a duplicate sees at each level of isolation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem::{Begun, Done, EffectError, Error, ErrorKind, Idem, PgStore, Retry};
use idem_system_tests::wire::At;
use idem_system_tests::{Postgres, postgres};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use tokio::sync::{Barrier, Semaphore};

use crate::stage::{Database, Effects, PAYOUTS, no_effect_twice, one_effect, pay, payout, pg_pool};
use crate::support::{Receipt, Refund};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];
const STRICT: [&str; 2] = ["repeatable read", "serializable"];

/// A database with a counter for transactions to fight over.
async fn arena() -> Postgres {
    let database = postgres();
    database.front(1).await;
    let mut connection = database.connect().await;
    sqlx::query("CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)")
        .execute(&mut connection)
        .await
        .expect("made");
    database
}

/// Gives what connects from now on this level of isolation, and empties the tables.
async fn set_level(database: &Postgres, level: &str) {
    let mut connection = database.connect().await;
    let setting = format!(
        "ALTER DATABASE {} SET default_transaction_isolation = '{level}'",
        database.name()
    );
    for statement in [
        &setting,
        // The ledger is append-only; between the rounds of a test its owner may start afresh.
        "ALTER TABLE idem_ledger DISABLE TRIGGER USER",
        "TRUNCATE payouts, counter, idem_record, idem_ledger, idem_ledger_detail",
        "ALTER TABLE idem_ledger ENABLE TRIGGER USER",
        "INSERT INTO counter VALUES (1, 0), (2, 0)",
    ] {
        let statement = sqlx::query(AssertSqlSafe(statement.to_owned()));
        statement.execute(&mut connection).await.expect("set");
    }
    let set: String = sqlx::query_scalar("SHOW transaction_isolation")
        .fetch_one(&mut database.connect().await)
        .await
        .expect("read");
    assert_eq!(set, level);
}

/// CASES B33.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b33_a_duplicate_is_told_in_flight_then_wins_or_replays_at_every_level() {
    let database = arena().await;
    for level in LEVELS {
        set_level(&database, level).await;
        for advisory in [true, false] {
            for commits in [false, true] {
                a_duplicate(&database, level, advisory, commits).await;
            }
        }
    }
}

async fn a_duplicate(database: &Postgres, level: &str, advisory: bool, commits: bool) {
    let place = format!("{level}, advisory {advisory}, commits {commits}");
    // Two front doors, as in two processes: neither knows what runs in the other.
    let (one, two) = (door(database, advisory).await, door(database, advisory).await);
    let refund = Refund::new(&place, 1000);
    let Ok(Begun::Execute(mut guard)) = one.call(&refund).begin::<Receipt>().await else {
        panic!("a new key is claimed: {place}");
    };
    let receipt = payout::<PgStore>(guard.connection(), &refund)
        .await
        .expect("the effect");

    let answer = if advisory {
        let error = pay(&two, &refund, Duration::ZERO)
            .await
            .expect_err("the other holds it");
        assert_eq!(error.kind(), ErrorKind::InFlight, "{place}: {error:?}");
        assert!(error.retry_after().is_some(), "{place}");
        end(guard, commits.then(|| receipt.clone())).await;
        pay(&two, &refund, Duration::ZERO).await
    } else {
        // Its claim waits on the unique index.
        let duplicate = pay(&two, &refund, Duration::ZERO);
        tokio::pin!(duplicate);
        let early = tokio::time::timeout(Duration::from_millis(100), &mut duplicate).await;
        assert!(early.is_err(), "{place}: answered while the other holds it: {early:?}");
        end(guard, commits.then(|| receipt.clone())).await;
        duplicate.await
    };
    let done = answer.unwrap_or_else(|error| panic!("{place}: {error:?}"));
    if commits {
        assert_eq!(done, Done::Replayed(receipt), "{place}");
    } else {
        assert!(
            matches!(&done, Done::Executed(own) if *own != receipt),
            "{place}: {done:?}"
        );
    }
    no_effect_twice(&two).await;
}

async fn end(guard: idem::Guard<PgStore, Receipt>, receipt: Option<Receipt>) {
    match receipt {
        Some(receipt) => drop(guard.complete(receipt).await.expect("committed")),
        None => guard.roll_back().await.expect("rolled back"),
    }
}

async fn door(database: &Postgres, advisory: bool) -> Idem<PgStore> {
    let store = PgStore::new(pg_pool(database.url(), 5).await).advisory_locks(advisory);
    Idem::new(store.open().await.expect("opened"))
}

/// CASES B33: a claim that only waits on the index does not wait for ever, and says in-flight, not "not found".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b33_without_advisory_locks_a_claim_waits_for_a_stated_time() {
    let database = arena().await;
    set_level(&database, "repeatable read").await;
    let (one, two) = (door(&database, false).await, door(&database, false).await);
    let refund = Refund::new("case-7", 1000);
    let Ok(Begun::Execute(_guard)) = one.call(&refund).begin::<Receipt>().await else {
        panic!("a new key is claimed");
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), pay(&two, &refund, Duration::ZERO)).await;
    let error = answer.expect("the wait ends").expect_err("the other holds it");
    assert_eq!(error.kind(), ErrorKind::InFlight, "{error:?}");
}

/// CASES B33: the snapshot of the duplicate is older than the winner's commit, so that it cannot see who has won.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b33_a_snapshot_older_than_the_winner_is_neither_not_found_nor_in_flight() {
    let database = arena().await;
    for level in STRICT {
        set_level(&database, level).await;
        let one = door(&database, true).await;
        let refund = Refund::new("case-7", 1000);
        let (begun, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let two = {
            let (begun, go) = (begun.clone(), go.clone());
            let store = PgStore::new(pg_pool(database.url(), 5).await).on_begin(move |tx, _| {
                let (begun, go) = (begun.clone(), go.clone());
                Box::pin(async move {
                    sqlx::query("SELECT count(*) FROM idem_record")
                        .execute(&mut *tx)
                        .await?;
                    begun.add_permits(1);
                    drop(go.acquire().await.expect("open"));
                    Ok(())
                })
            });
            Idem::new(store)
        };
        let duplicate = pay(&two, &refund, Duration::ZERO);
        tokio::pin!(duplicate);
        tokio::select! {
            done = &mut duplicate => panic!("{level}: {done:?}"),
            permit = begun.acquire() => permit.expect("open").forget(),
        }
        let won = pay(&one, &refund, Duration::ZERO).await.expect("the winner");
        go.add_permits(1);
        let done = duplicate.await.unwrap_or_else(|error| panic!("{level}: {error:?}"));
        assert_eq!(done, Done::Replayed(won.into_inner()), "{level}");
        one_effect(&one, done.get()).await;
        assert_eq!(begun.available_permits(), 1, "{level}: it took a second attempt");
    }
}

/// CASES B31: a claim that gave up waiting leaves the caller's transaction usable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_that_gave_up_waiting_is_in_flight_and_leaves_the_transaction_usable() {
    let database = arena().await;
    for level in LEVELS {
        set_level(&database, level).await;
        let (one, two) = (door(&database, false).await, door(&database, false).await);
        let (held, other) = (Refund::new("held", 1000), Refund::new("other", 1000));
        let Ok(Begun::Execute(guard)) = one.call(&held).begin::<Receipt>().await else {
            panic!("a new key is claimed");
        };
        let mut transaction = two.store().pool().begin().await.expect("begun");
        let timeout = sqlx::query("SET LOCAL lock_timeout = '100ms'");
        timeout.execute(&mut *transaction).await.expect("set");
        PgStore::insert(&mut transaction, "before", 1)
            .await
            .expect("a row of the caller's");
        let never = async |_: &mut PgConnection| -> Result<Receipt, EffectError> { panic!("the other holds it") };
        let error = two.call(&held).join(&mut transaction, never).await.expect_err("held");
        assert_eq!(error.kind(), ErrorKind::InFlight, "{level}: {error:?}");

        let effect = async |tx: &mut PgConnection| payout::<PgStore>(tx, &other).await;
        let done = two.call(&other).join(&mut transaction, effect).await.expect("it runs");
        assert!(!done.is_replayed());
        transaction.commit().await.expect("committed");
        assert_eq!(two.store().number(PAYOUTS).await, 2, "{level}");
        guard.roll_back().await.expect("rolled back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_make_the_tables_at_once_at_every_level() {
    for level in LEVELS {
        let database = postgres();
        let statement = format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{level}'",
            database.name()
        );
        let mut connection = database.connect().await;
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .expect("set");
        let pool = pg_pool(database.url(), 8).await;
        let migrations = (0..8).map(|_| async {
            let store = PgStore::new(pool.clone()).migrate().await;
            drop(store.unwrap_or_else(|error| panic!("{level}: {error:?}")));
        });
        all(migrations).await;
    }
}

/// A transaction that the database has aborted holds its claim until it is rolled back; the next attempt, on another
/// connection, must not take it for somebody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_the_database_undid_is_not_in_flight_for_the_next_one() {
    let database = arena().await;
    let direct = database.front(2).await;
    // In the claim, and in the completion.
    for table in ["idem_record", "idem_ledger"] {
        set_level(&database, "read committed").await;
        let trigger = format!("CREATE TRIGGER fail AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fail_once()");
        for statement in [
            "DROP SEQUENCE IF EXISTS attempts",
            "DROP TRIGGER IF EXISTS fail ON idem_record",
            "CREATE SEQUENCE attempts",
            FAIL_ONCE,
            &trigger,
        ] {
            let statement = sqlx::query(AssertSqlSafe(statement.to_owned()));
            statement.execute(direct.store().pool()).await.expect("made");
        }
        let wire = database.wire();
        let idem = Idem::new(PgStore::new(wire.pool(5).await));
        // A second connection, which the second attempt could take while the first one's is still being rolled back.
        drop(tokio::join!(
            idem.store().pool().acquire(),
            idem.store().pool().acquire()
        ));
        tokio::time::sleep(Duration::from_millis(50)).await;

        wire.hold(At::before("ROLLBACK"));
        let refund = Refund::new("case-7", 1000);
        let call = pay(&idem, &refund, Duration::ZERO);
        tokio::pin!(call);
        let early = tokio::time::timeout(Duration::from_millis(500), &mut call).await;
        assert!(wire.has_struck(), "{table}: the first attempt is rolled back");
        assert!(
            early.is_err(),
            "{table}: answered while the first attempt holds the claim: {early:?}"
        );
        wire.release();
        let done = call.await.expect("it is run again");
        assert!(!done.is_replayed(), "{table}");
        one_effect(&direct, done.get()).await;
    }
}

const FAIL_ONCE: &str = "CREATE OR REPLACE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'as if it conflicted' USING ERRCODE = '40001'; END IF;
    RETURN NEW; END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_conflict_are_run_again_until_each_has_its_effect() {
    let database = arena().await;
    for level in STRICT {
        set_level(&database, level).await;
        let idem = database.front(8).await;
        let attempts = AtomicU32::new(0);
        let barrier = Barrier::new(CALLERS);
        let calls = (0..CALLERS).map(|number| {
            let (idem, attempts, barrier) = (&idem, &attempts, &barrier);
            async move {
                let refund = Refund::new(&format!("case-{number}"), 1000);
                barrier.wait().await;
                let done = idem
                    .transaction(&refund, async |tx: &mut PgConnection| {
                        attempts.fetch_add(1, Ordering::SeqCst);
                        count_up(tx, 1).await?;
                        payout::<PgStore>(tx, &refund).await
                    })
                    .await;
                let done = done.unwrap_or_else(|error| panic!("{level}: {error:?}"));
                assert!(!done.is_replayed());
            }
        });
        all(calls).await;
        let counted: i32 = sqlx::query_scalar("SELECT n FROM counter WHERE id = 1")
            .fetch_one(idem.store().pool())
            .await
            .expect("read");
        assert_eq!(usize::try_from(counted), Ok(CALLERS), "{level}: an update was lost");
        assert_eq!(idem.store().number(PAYOUTS).await, CALLERS as i64);
        assert!(
            attempts.into_inner() > CALLERS as u32,
            "{level}: nothing conflicted, so nothing was tested"
        );
        no_effect_twice(&idem).await;
    }
}

/// Reads what another writes: at SERIALIZABLE one of them fails, maybe not before COMMIT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serialisation_failure_at_commit_is_run_again() {
    let database = arena().await;
    set_level(&database, "serializable").await;
    let idem = database.front(8).await;
    let (attempts, meet) = (AtomicU32::new(0), Barrier::new(2));
    let call = |own: i32, other: i32| {
        let (idem, attempts, meet) = (&idem, &attempts, &meet);
        async move {
            let refund = Refund::new(&format!("case-{own}"), 1000);
            let first = AtomicU32::new(0);
            idem.transaction(&refund, async |tx: &mut PgConnection| {
                attempts.fetch_add(1, Ordering::SeqCst);
                let seen: i32 = sqlx::query_scalar("SELECT n FROM counter WHERE id = $1")
                    .bind(other)
                    .fetch_one(&mut *tx)
                    .await?;
                if first.fetch_add(1, Ordering::SeqCst) == 0 {
                    meet.wait().await;
                }
                sqlx::query("UPDATE counter SET n = $2 + 1 WHERE id = $1")
                    .bind(own)
                    .bind(seen)
                    .execute(&mut *tx)
                    .await?;
                payout::<PgStore>(tx, &refund).await
            })
            .await
        }
    };
    let (one, two) = tokio::join!(call(1, 2), call(2, 1));
    assert!(!one.expect("it runs").is_replayed() && !two.expect("it runs").is_replayed());
    let counted: Vec<i32> = sqlx::query_scalar("SELECT n FROM counter ORDER BY n")
        .fetch_all(idem.store().pool())
        .await
        .expect("read");
    assert_eq!(counted, [1, 2], "one of them saw the other");
    // PostgreSQL locks what was read by the page, so the one that runs again may be undone once more.
    assert!(attempts.into_inner() >= 3, "one of them was run again");
    no_effect_twice(&idem).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_run_again() {
    let database = arena().await;
    set_level(&database, "read committed").await;
    let idem = database.front(8).await;
    let (attempts, meet) = (AtomicU32::new(0), Barrier::new(2));
    let call = |own: i32, other: i32| {
        let (idem, attempts, meet) = (&idem, &attempts, &meet);
        async move {
            let refund = Refund::new(&format!("case-{own}"), 1000);
            let first = AtomicU32::new(0);
            idem.transaction(&refund, async |tx: &mut PgConnection| {
                attempts.fetch_add(1, Ordering::SeqCst);
                payout::<PgStore>(tx, &refund).await?;
                count_up(tx, own).await?;
                if first.fetch_add(1, Ordering::SeqCst) == 0 {
                    meet.wait().await;
                }
                count_up(tx, other).await?;
                Ok(own)
            })
            .await
        }
    };
    let (one, two) = tokio::join!(call(1, 2), call(2, 1));
    assert_eq!(
        (one.expect("it runs"), two.expect("it runs")),
        (Done::Executed(1), Done::Executed(2))
    );
    assert_eq!(attempts.into_inner(), 3, "one of them was run again");
    no_effect_twice(&idem).await;
    assert_eq!(idem.store().number("SELECT sum(n) FROM counter").await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_run_again_is_a_retryable_error() {
    let database = arena().await;
    for level in STRICT {
        set_level(&database, level).await;
        let idem = database.front(4).await;
        let beside = database.pool(1).await;

        // A closure that can be called once.
        let refund = Refund::new("once", 1000);
        let once = async |beside: &PgPool| -> Result<Done<Receipt>, Error> {
            idem.call(&refund)
                .transaction_once(async |tx: &mut PgConnection| disturbed(tx, &refund, beside).await)
                .await
        };
        assert_undone(once(&beside).await, level);
        assert_eq!(idem.store().number(PAYOUTS).await, 0, "{level}");
        assert!(
            !pay(&idem, &refund, Duration::ZERO)
                .await
                .expect("it runs")
                .is_replayed()
        );

        // A guard.
        let refund = Refund::new("guard", 1000);
        let Ok(Begun::Execute(mut guard)) = idem.call(&refund).begin::<Receipt>().await else {
            panic!("{level}: a new key is claimed");
        };
        disturbed(guard.connection(), &refund, &beside)
            .await
            .expect_err("40001");
        guard.roll_back().await.expect("rolled back");
        assert!(
            !pay(&idem, &refund, Duration::ZERO)
                .await
                .expect("it runs")
                .is_replayed()
        );

        // One that can be called again is, once.
        let (refund, attempts) = (Refund::new("again", 1000), AtomicU32::new(0));
        let done = idem
            .transaction(&refund, async |tx: &mut PgConnection| {
                if attempts.fetch_add(1, Ordering::SeqCst) == 0 {
                    disturbed(tx, &refund, &beside).await
                } else {
                    payout::<PgStore>(tx, &refund).await
                }
            })
            .await
            .expect("it runs");
        assert_eq!((done.is_replayed(), attempts.into_inner()), (false, 2), "{level}");
        no_effect_twice(&idem).await;
    }
}

/// The effect, with a change by another that makes the database undo it.
async fn disturbed(connection: &mut PgConnection, refund: &Refund, beside: &PgPool) -> Result<Receipt, EffectError> {
    let receipt = payout::<PgStore>(connection, refund).await?;
    sqlx::query("UPDATE counter SET n = n + 1 WHERE id = 1")
        .execute(beside)
        .await?;
    count_up(connection, 1).await?;
    Ok(receipt)
}

#[track_caller]
fn assert_undone(done: Result<Done<Receipt>, Error>, level: &str) {
    let error = done.expect_err("the database undid it");
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Store, Retry::Transaction),
        "{level}: {error:?}"
    );
    assert!(error.is_retryable());
}

async fn count_up(connection: &mut PgConnection, id: i32) -> Result<(), sqlx::Error> {
    let n: i32 = sqlx::query_scalar("SELECT n FROM counter WHERE id = $1")
        .bind(id)
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query("UPDATE counter SET n = n + 1 WHERE id = $1 AND n >= $2")
        .bind(id)
        .bind(n)
        .execute(connection)
        .await?;
    Ok(())
}

/// Runs futures at once, in this task.
async fn all<F: Future<Output = ()>>(futures: impl Iterator<Item = F>) {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        futures.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if futures.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

const CALLERS: usize = 8;
