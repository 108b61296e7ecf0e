//! A pooler in transaction mode between the stores and PostgreSQL: PgBouncer that does not keep prepared statements apart.

use std::cell::Cell;
use std::time::Duration;

use idem::{Begun, Effect, EffectError, Error, ErrorKind, Idem, PgStore, Recovery, Resolution, Settings, Store as _};
use idem_core::testing;
use idem_system_tests::{PgBouncer, Postgres, pgbouncer, postgres};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::engine::postgres::{never, receipt, text};
use crate::stage::{LONG, pg_pool};
use crate::support::{CREATE_REFUNDS, Receipt, Refund};

const SERVERS: u32 = 3;
const CLIENTS: u32 = 10;

/// A database with tables that were made through the pooler.
async fn scene(servers: u32) -> (Postgres, PgBouncer) {
    let database = postgres();
    let bouncer = pgbouncer(&database, servers);
    let store = PgStore::new(pg_pool(bouncer.url(), 1).await);
    store.migrate().await.expect("migrated through the pooler");
    sqlx::raw_sql(CREATE_REFUNDS)
        .execute(&mut database.connect().await)
        .await
        .expect("the table of the effects");
    (database, bouncer)
}

/// A store as another process has one, with the setting that such a pooler needs.
async fn door(bouncer: &PgBouncer) -> Idem<PgStore> {
    let store = PgStore::new(pg_pool(bouncer.url(), CLIENTS).await).persistent_statements(false);
    let settings = Settings::default().wait(LONG);
    Idem::with_settings(store.open().await.expect("opened"), settings).expect("settings agree")
}

/// The effect, as it has to be behind such a pooler.
async fn pay(connection: &mut PgConnection, case_id: &str) -> Result<Receipt, EffectError> {
    sqlx::query("INSERT INTO refunds (case_id, cents) VALUES ($1, $2)")
        .bind(case_id)
        .bind(1_i64)
        .persistent(false)
        .execute(connection)
        .await?;
    Ok(receipt(case_id))
}

async fn count(database: &Postgres, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql)
        .fetch_one(&mut database.connect().await)
        .await
        .expect("a count")
}

/// The process of the server that a transaction is on.
async fn server_of(connection: &mut PgConnection) -> i32 {
    let row = connection.fetch_one(sqlx::raw_sql("SELECT pg_backend_pid()")).await;
    row.and_then(|row| row.try_get(0)).expect("a process")
}

const TWICE: &str = "SELECT count(*) FROM (SELECT FROM refunds GROUP BY case_id HAVING count(*) > 1) AS twice";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_from_two_stores_have_one_effect_each() {
    const KEYS: usize = 40;
    const DUPLICATES: usize = 50;
    let (database, bouncer) = scene(SERVERS).await;
    let doors = [door(&bouncer).await, door(&bouncer).await];
    let tasks: Vec<_> = (0..KEYS * DUPLICATES)
        .map(|number| {
            let idem = doors[number % 2].clone();
            tokio::spawn(async move {
                let case_id = format!("case-{}", number / 2 % KEYS);
                let refund = Refund::new(&case_id, 1);
                let call = idem.transaction(&refund, async |tx: &mut PgConnection| pay(tx, &case_id).await);
                let done = call.await.unwrap_or_else(|error| panic!("{case_id}: {}", text(&error)));
                assert_eq!(done.get(), &receipt(&case_id));
                usize::from(!done.is_replayed())
            })
        })
        .collect();
    let mut executed = 0;
    for task in tasks {
        executed += task.await.expect("no panic");
    }
    assert_eq!(executed, KEYS);
    assert_eq!(count(&database, "SELECT count(*) FROM refunds").await, 40);
    assert_eq!(count(&database, TWICE).await, 0);
    assert_eq!(
        count(&database, "SELECT count(*) FROM idem_ledger WHERE kind = 'executed'").await,
        40
    );
    // The connections of the counts above have gone at some time; those of the pooler stay.
    let client_backends = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let mut sessions = count(&database, client_backends).await;
    for _ in 0..100 {
        if sessions <= SERVERS.into() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        sessions = count(&database, client_backends).await;
    }
    assert!(sessions <= SERVERS.into(), "the stores do not share {sessions} servers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_a_store_does_works() {
    let (database, bouncer) = scene(SERVERS).await;
    let [idem, other] = [door(&bouncer).await, door(&bouncer).await];
    idem.store().check().await.expect("complete");
    PgStore::new(pg_pool(bouncer.url(), 1).await)
        .migrate()
        .await
        .expect("nothing to do");

    // A transaction, its replay, a mismatch, an effect that fails, and one that is declined.
    let refund = Refund::new("K", 1);
    let done = idem.transaction(&refund, async |tx: &mut PgConnection| pay(tx, "K").await);
    assert!(!done.await.expect("runs").is_replayed());
    assert!(other.transaction(&refund, never).await.expect("replays").is_replayed());
    let error = other.transaction(&Refund::new("K", 2), never).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{}", text(&error));
    let failing = async |tx: &mut PgConnection| {
        pay(tx, "F").await?;
        Err::<Receipt, _>(EffectError::nothing_happened("no luck"))
    };
    let error = idem.transaction(&Refund::new("F", 1), failing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Effect, "{}", text(&error));
    let declines = async |_: &mut PgConnection| Err::<Receipt, _>(EffectError::final_("no"));
    for idem in [&idem, &other] {
        let error = idem.transaction(&Refund::new("D", 1), declines).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Declined, "{}", text(&error));
    }

    // In a guard, beside which a duplicate in another process is told at once.
    let Begun::Execute(mut guard) = idem
        .call(&Refund::new("G", 1))
        .begin::<Receipt>()
        .await
        .expect("claimed")
    else {
        panic!("nothing is recorded")
    };
    pay(guard.connection(), "G").await.expect("paid");
    let error = other
        .call(&Refund::new("G", 1))
        .wait(Duration::ZERO)
        .transaction(never)
        .await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InFlight);
    guard.complete(receipt("G")).await.expect("completed");

    // In a transaction of the caller's.
    for replayed in [false, true] {
        let mut connection = PgConnection::connect(bouncer.url()).await.expect("connected");
        let mut tx = connection.begin().await.expect("begun");
        let refund = Refund::new("J", 1);
        let joined = idem
            .call(&refund)
            .join(&mut tx, async |tx: &mut PgConnection| pay(tx, "J").await);
        assert_eq!(joined.await.expect("joined").is_replayed(), replayed);
        tx.commit().await.expect("committed");
    }

    // Outside effects: one that is done, and one whose outcome a person tells.
    let outside = Refund::new("O", 1);
    let done = idem
        .run(&outside, Recovery::Hold, async |_: Effect| Ok(receipt("O")))
        .await;
    assert!(!done.expect("runs").is_replayed());
    let done = other
        .run(&outside, Recovery::Hold, async |_: Effect| Ok(receipt("X")))
        .await;
    assert!(done.expect("replays").is_replayed());
    let lost = Refund::new("L", 1);
    let done = idem.run(&lost, Recovery::Hold, async |_: Effect| {
        Err::<Receipt, _>(EffectError::new("no answer"))
    });
    assert!(done.await.is_err());
    let stuck = other.stuck(Duration::ZERO, 10).await.expect("listed");
    let key = idem.call(&lost).key().expect("a key");
    let [stuck] = &stuck[..] else { panic!("{stuck:?}") };
    assert_eq!(stuck.key, key);
    let by_hand = other.by_hand("ada", "found it in their list");
    let happened = Resolution::Happened(receipt("L"));
    by_hand.resolve(&key, stuck.attempt, happened).await.expect("resolved");
    assert!(other.peek(&key).await.expect("read").record.is_some());
    let done = other
        .run(&lost, Recovery::Hold, async |_: Effect| Ok(receipt("X")))
        .await;
    assert_eq!(done.expect("replays").get(), &receipt("L"));

    // Undone, and once more.
    let key = idem.call(&refund).key().expect("a key");
    idem.by_hand("ada", "wrong card")
        .revoke(&key, 1)
        .await
        .expect("revoked");
    other.by_hand("ada", "again").reopen(&key, 1).await.expect("reopened");
    let done = other.transaction(&refund, async |tx: &mut PgConnection| pay(tx, "K again").await);
    assert!(!done.await.expect("runs").is_replayed());

    // Purged, and still on record.
    sqlx::query("UPDATE idem_record SET expires_at = now() WHERE status = 1")
        .execute(&mut database.connect().await)
        .await
        .expect("expired");
    assert!(idem.purge_expired(100).await.expect("purged") > 0);
    let error = other.transaction(&refund, never).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted, "{}", text(&error));

    let effects = "SELECT string_agg(case_id, ', ' ORDER BY case_id COLLATE \"C\") FROM refunds";
    let effects: String = sqlx::query_scalar(effects)
        .fetch_one(&mut database.connect().await)
        .await
        .expect("the effects");
    assert_eq!(effects, "G, J, K, K again");
}

/// Outside of a transaction, what parses a statement and what runs it may reach different servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reads_outside_of_calls_is_not_mixed_up() {
    let (_database, bouncer) = scene(SERVERS).await;
    let idem = door(&bouncer).await;
    for number in 0..5 {
        let refund = Refund::new(&number.to_string(), 1);
        let done = idem.transaction(&refund, async |tx: &mut PgConnection| pay(tx, &refund.case_id).await);
        done.await.expect("runs");
    }
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let idem = idem.clone();
            tokio::spawn(async move {
                let refund = Refund::new(&(number % 5).to_string(), 1);
                let key = idem.call(&refund).key().expect("a key");
                for _ in 0..20 {
                    let record = idem.peek(&key).await.expect("read").record.expect("there");
                    assert_eq!(record.attempt, 1);
                    let origin = idem.store().origin(&key).await.expect("read").expect("there");
                    assert_eq!(origin.key, key);
                    assert_eq!(idem.stuck(Duration::ZERO, 10).await.expect("listed").len(), 0);
                    assert_eq!(idem.purge_expired(10).await.expect("purged"), 0);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}

#[tokio::test]
async fn the_store_conforms() {
    let (_database, bouncer) = scene(CLIENTS).await;
    let store = PgStore::new(pg_pool(bouncer.url(), CLIENTS).await).persistent_statements(false);
    testing::transactional_store(store).await;
}

#[track_caller]
fn assert_told(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Store, "{}", text(error));
    assert!(!error.is_retryable(), "{}", text(error));
    assert!(
        error
            .to_string()
            .contains("set `persistent_statements(false)` on the store"),
        "{}",
        text(error)
    );
}

#[tokio::test]
async fn without_the_setting_a_name_that_is_taken_is_told_with_the_setting() {
    let (database, bouncer) = scene(1).await;
    for number in 0..2 {
        let idem = Idem::new(
            PgStore::new(pg_pool(bouncer.url(), 1).await)
                .open()
                .await
                .expect("opened"),
        );
        let refund = Refund::new("K", 1);
        let done = idem.transaction(&refund, async |tx: &mut PgConnection| pay(tx, "K").await);
        match (number, done.await) {
            (0, done) => assert!(!done.expect("the first has the server to itself").is_replayed()),
            (_, done) => assert_told(&done.unwrap_err()),
        }
    }
    assert_eq!(count(&database, "SELECT count(*) FROM refunds").await, 1);
}

#[tokio::test]
async fn without_the_setting_a_name_that_is_missing_is_told_with_the_setting() {
    let (database, bouncer) = scene(2).await;
    let idem = Idem::new(PgStore::new(pg_pool(bouncer.url(), 1).await));
    let served_by = Cell::new(0);
    let runs = async |case_id: &str| {
        idem.transaction(&Refund::new(case_id, 1), async |tx: &mut PgConnection| {
            served_by.set(server_of(tx).await);
            pay(tx, case_id).await
        })
        .await
    };
    assert!(!runs("first").await.expect("all on one server").is_replayed());
    // Somebody else keeps that server: of the two, both are taken, and the other one is given back.
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut connection = PgConnection::connect(bouncer.url()).await.expect("connected");
        connection.execute("BEGIN").await.expect("begun");
        let server = server_of(&mut connection).await;
        connections.push((server, connection));
    }
    connections.retain(|(server, _)| *server == served_by.get());
    assert_eq!(connections.len(), 1);
    assert_told(&runs("second").await.unwrap_err());
    drop(connections);
    assert_eq!(count(&database, "SELECT count(*) FROM refunds").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_setting_many_at_once_fail_and_none_has_its_effect_twice() {
    let (database, bouncer) = scene(SERVERS).await;
    let mut doors = Vec::new();
    for _ in 0..2 {
        doors.push(Idem::new(PgStore::new(pg_pool(bouncer.url(), CLIENTS).await)));
    }
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let idem = doors[number % 2].clone();
            tokio::spawn(async move {
                let case_id = format!("case-{}", number % 20);
                let refund = Refund::new(&case_id, 1);
                idem.transaction(&refund, async |tx: &mut PgConnection| pay(tx, &case_id).await)
                    .await
                    .err()
            })
        })
        .collect();
    let mut told = 0;
    for task in tasks {
        if let Some(error) = task.await.expect("no panic") {
            told += usize::from(error.to_string().contains("persistent_statements(false)"));
        }
    }
    assert!(told > 0, "the statements were kept apart, so nothing was tested");
    assert_eq!(count(&database, TWICE).await, 0);
    let effects = count(&database, "SELECT count(*) FROM refunds").await;
    let entries = count(&database, "SELECT count(*) FROM idem_ledger WHERE kind = 'executed'").await;
    assert_eq!(effects, entries);
}
