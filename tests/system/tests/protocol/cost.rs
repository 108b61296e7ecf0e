//! What a call costs on PostgreSQL beside its effect, as counts: round trips, WAL, transaction ids. Nothing is timed.

use std::process::Command;
use std::time::Duration;

use idem::{Done, EffectError, ErrorKind, Idem, PgStore, Settings};
use idem_system_tests::{Postgres, postgres, wire::Proxy};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row as _};

use crate::engine::postgres::{Connection, never, receipt};
use crate::support::{CREATE_REFUNDS, INSERT_REFUND, Receipt, Refund};

/// An effect of two statements.
async fn effect(connection: &mut PgConnection, case_id: &str) -> Result<Receipt, sqlx::Error> {
    sqlx::query(INSERT_REFUND)
        .bind(case_id)
        .bind(1_i64)
        .execute(&mut *connection)
        .await?;
    sqlx::query("UPDATE accounts SET cents = cents - 1 WHERE id = 1")
        .execute(&mut *connection)
        .await?;
    Ok(receipt(case_id))
}

async fn bare(pool: &PgPool, case_id: &str) {
    let mut transaction = pool.begin().await.expect("a transaction");
    effect(&mut transaction, case_id).await.expect("the effect");
    transaction.commit().await.expect("committed");
}

async fn executes(idem: &Idem<PgStore>, case_id: &str) {
    let refund = Refund::new(case_id, 1);
    let done = idem
        .transaction(&refund, async |tx: &mut Connection| Ok(effect(tx, case_id).await?))
        .await;
    assert_eq!(done.expect("it runs"), Done::Executed(receipt(case_id)));
}

async fn replays(idem: &Idem<PgStore>, case_id: &str) {
    let done = idem
        .transaction(&Refund::new(case_id, 1), never)
        .await
        .expect("recorded");
    assert!(done.is_replayed());
}

async fn declines(idem: &Idem<PgStore>) {
    let declined = async |_: &mut Connection| Err::<Receipt, _>(EffectError::final_("no"));
    let error = idem
        .transaction(&Refund::new("declined", 1), declined)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Declined);
}

async fn prepared() -> Postgres {
    let database = postgres();
    let pool = database.pool(1).await;
    let accounts =
        "CREATE TABLE accounts (id int PRIMARY KEY, cents bigint NOT NULL); INSERT INTO accounts VALUES (1, 0)";
    sqlx::raw_sql(AssertSqlSafe(format!("{CREATE_REFUNDS}; {accounts}")))
        .execute(&pool)
        .await
        .expect("tables");
    PgStore::new(pool).migrate().await.expect("migrated");
    database
}

async fn store(pool: &PgPool, settings: Settings) -> Idem<PgStore> {
    let store = PgStore::new(pool.clone()).open().await.expect("opened");
    Idem::with_settings(store, settings).expect("settings agree")
}

/// Round trips and the beginnings of the statements. Not counted is the Sync by which sqlx's pool asks a connection that
/// has come back whether it is well: nobody waits for it.
async fn trips(wire: &Proxy, work: impl Future<Output = ()>) -> (usize, Vec<String>) {
    wire.reset();
    work.await;
    let mut log = wire.log();
    log.retain(|trip| !trip.executed.is_empty() || !trip.parsed.is_empty());
    let statements = log.iter().flat_map(|trip| &trip.executed);
    let beginnings = statements.map(|text| text.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
    (log.len(), beginnings.collect())
}

#[tokio::test]
async fn an_execution_is_the_bare_effect_and_two_round_trips() {
    let database = prepared().await;
    let wire = database.wire();
    let pool = wire.pool(1).await;
    let idem = store(&pool, Settings::default()).await;
    let probing = store(&pool, Settings::default().probe(true)).await;
    // The connection prepares its statements.
    bare(&pool, "warm").await;
    executes(&idem, "warm").await;
    replays(&idem, "warm").await;
    replays(&probing, "warm").await;

    let (floor, _) = trips(&wire, bare(&pool, "bare")).await;
    assert_eq!(floor, 4, "BEGIN, two statements, COMMIT");
    let (execution, statements) = trips(&wire, executes(&idem, "K")).await;
    assert_eq!(execution, floor + 2, "{statements:?}");
    assert_eq!(
        statements,
        [
            "BEGIN; SET",
            "WITH held",
            "INSERT INTO",
            "UPDATE accounts",
            "WITH completed",
            "COMMIT"
        ]
    );
    let (replay, statements) = trips(&wire, replays(&probing, "K")).await;
    assert_eq!(replay, 1, "{statements:?}");
    let (replay, statements) = trips(&wire, replays(&idem, "K")).await;
    assert_eq!(replay, 4, "{statements:?}");
    let (execution, statements) = trips(&wire, executes(&probing, "L")).await;
    assert_eq!(execution, floor + 3, "the probe finds nothing: {statements:?}");
    assert_eq!(wire.connections(), 1);
}

#[tokio::test]
async fn a_join_is_four_round_trips_in_the_callers_transaction() {
    let database = prepared().await;
    let wire = database.wire();
    let pool = wire.pool(1).await;
    let idem = store(&pool, Settings::default()).await;
    let joins = async |case_id: &str| {
        let mut transaction = pool.begin().await.expect("a transaction");
        let refund = Refund::new(case_id, 1);
        let joined = idem.call(&refund).join(&mut transaction, async |tx: &mut Connection| {
            Ok(effect(tx, case_id).await?)
        });
        joined.await.expect("joined");
        transaction.commit().await.expect("committed");
    };
    joins("warm").await;
    bare(&pool, "warm").await;
    let (floor, _) = trips(&wire, bare(&pool, "bare")).await;
    let (execution, statements) = trips(&wire, joins("K")).await;
    assert_eq!(
        execution,
        floor + 4,
        "a savepoint, the claim, the outcome, the release: {statements:?}"
    );
}

/// Runs the measurement below on a server of its own: what others do on a shared one would count as well.
#[test]
fn an_execution_adds_no_fsync_and_no_transaction_id() {
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-services");
    let output = Command::new(scripts)
        .arg(std::env::current_exe().expect("this binary"))
        .args(["measured_on_a_server_of_its_own", "--ignored", "--nocapture"])
        .env("IDEM_TEST_SERVICES", "private")
        .env_remove("IDEM_TEST_POSTGRES_URL")
        .output()
        .expect("scripts/with-services starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
    print!("{text}");
}

#[derive(Debug)]
struct Counts {
    fsyncs: i64,
    transaction_ids: i64,
    commits: i64,
    wal_bytes: i64,
}

impl Counts {
    async fn read(database: &Postgres) -> Self {
        let mut connection = database.connect().await;
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&mut connection)
            .await
            .expect("the version");
        let fsyncs = match version {
            ..150_000 => {
                // The collector is told at the end of a session, and needs a moment.
                tokio::time::sleep(Duration::from_secs(1)).await;
                "SELECT wal_sync FROM pg_stat_wal"
            }
            150_000..180_000 => "SELECT wal_sync FROM pg_stat_wal",
            180_000.. => "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'",
        };
        let row = sqlx::query(AssertSqlSafe(format!(
            "SELECT ({fsyncs}) AS fsyncs, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS ids,
                (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits,
                (pg_current_wal_insert_lsn() - '0/0')::bigint AS bytes"
        )))
        .fetch_one(&mut connection)
        .await
        .expect("PostgreSQL's statistics");
        Self {
            fsyncs: row.get("fsyncs"),
            transaction_ids: row.get("ids"),
            commits: row.get("commits"),
            wal_bytes: row.get("bytes"),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            fsyncs: self.fsyncs - earlier.fsyncs,
            transaction_ids: self.transaction_ids - earlier.transaction_ids,
            commits: self.commits - earlier.commits,
            wal_bytes: self.wal_bytes - earlier.wal_bytes,
        }
    }
}

/// A session of its own: a session's counts are in the statistics when it has ended.
async fn measured(database: &Postgres, work: impl AsyncFnOnce(&PgPool)) -> Counts {
    let before = Counts::read(database).await;
    let pool = database.pool(1).await;
    work(&pool).await;
    pool.close().await;
    let mut watcher = database.connect().await;
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(others)
        .fetch_one(&mut watcher)
        .await
        .expect("sessions")
        > 0
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Counts::read(database).await.since(&before)
}

const EXECUTIONS: i64 = 1000;

#[tokio::test]
#[ignore = "needs a server that nobody else uses; `an_execution_adds_no_fsync_and_no_transaction_id` starts one and runs it"]
async fn measured_on_a_server_of_its_own() {
    let database = prepared().await;
    let mut admin = database.connect().await;
    for statement in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"] {
        sqlx::query(statement).execute(&mut admin).await.expect("set");
    }
    let fsync: String = sqlx::query_scalar("SHOW fsync")
        .fetch_one(&mut admin)
        .await
        .expect("shown");
    assert_eq!(fsync, "on", "without it there is nothing to count");
    drop(admin);
    // The first session has the catalogue to read and hint bits to set.
    measured(&database, async |pool| bare(pool, "warm").await).await;

    let floor = measured(&database, async |pool| {
        for n in 0..EXECUTIONS {
            bare(pool, &format!("bare {n}")).await;
        }
    });
    let floor = floor.await;
    let ours = measured(&database, async |pool| {
        let idem = Idem::new(PgStore::new(pool.clone()));
        for n in 0..EXECUTIONS {
            executes(&idem, &n.to_string()).await;
        }
    });
    let ours = ours.await;
    println!("{EXECUTIONS} bare effects: {floor:?}\n{EXECUTIONS} executions: {ours:?}");
    assert!(floor.fsyncs >= EXECUTIONS * 99 / 100, "{floor:?}: nothing was measured");
    assert!(
        (ours.fsyncs - floor.fsyncs).abs() <= EXECUTIONS / 100,
        "{floor:?}, {ours:?}"
    );
    assert_eq!(ours.transaction_ids, floor.transaction_ids);
    assert!(
        (ours.commits - floor.commits).abs() <= EXECUTIONS / 100,
        "{floor:?}, {ours:?}"
    );

    // Nothing in the ledger says that a declined effect happened, so its repeats get as far as the record.
    measured(&database, async |pool| {
        declines(&Idem::new(PgStore::new(pool.clone()))).await
    })
    .await;
    for settings in [Settings::default(), Settings::default().probe(true)] {
        // The server itself writes WAL from time to time.
        let mut tries = 0;
        loop {
            let settings = settings.clone();
            let counts = measured(&database, async move |pool| {
                let idem = Idem::with_settings(PgStore::new(pool.clone()), settings).expect("settings agree");
                for n in 0..100 {
                    replays(&idem, &n.to_string()).await;
                    declines(&idem).await;
                }
            });
            let counts = counts.await;
            println!("100 replays of results and of final errors: {counts:?}");
            assert_eq!(counts.transaction_ids, 0, "a replay takes no transaction id");
            tries += 1;
            if counts.wal_bytes == 0 && counts.fsyncs == 0 {
                break;
            }
            assert!(tries < 5, "replays write WAL: {counts:?}");
        }
    }
}
