//! Tables made by hand from the printed SQL by the programs that people use, on PostgreSQL with three roles, and checked without
//! rights to change them.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use idem::{Effect, EffectError, Error, ErrorKind, Idem, PgRoles, PgStore, Recovery, Resolution, SqliteStore};
use idem_system_tests::{Postgres, postgres, sqlite};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::engine::on_both_databases;
use crate::support::{CREATE_REFUNDS, Refund};

on_both_databases! {
    async fn a_missing_table_or_column_is_named_when_the_store_is_opened() {
        for (damage, told) in [
            ("DROP TABLE idem_ledger_detail", "idem_ledger_detail"),
            ("ALTER TABLE idem_record RENAME COLUMN run_id TO other", "idem_record.run_id"),
        ] {
            let world = World::new().await;
            let store = Store::new(world.database.pool(1).await);
            store.check().await.expect("complete");
            run(&world.outside, damage).await;
            let errors = [
                store.check().await.unwrap_err(),
                store.clone().open().await.err().expect("refused"),
                store.migrate().await.err().expect("refused"),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
                assert!(error.to_string().contains(told) && error.to_string().contains("restore"), "{error}");
            }
        }
    }
}

async fn pool_as(url: &str, role: String) -> PgPool {
    PgPoolOptions::new()
        .max_connections(2)
        .after_connect(move |connection, _| {
            let set = AssertSqlSafe(format!("SET ROLE \"{role}\""));
            Box::pin(async move { sqlx::query(set).execute(connection).await.map(drop) })
        })
        .connect(url)
        .await
        .expect("a pool")
}

/// A database with the tables of the script that `psql` has run, and the three roles of it.
struct Granted {
    owner: PgPool,
    migrator: String,
    application: String,
    auditor: String,
    // Dropped last: with it go the roles, also when a test panics.
    database: Postgres,
}

impl Granted {
    async fn new() -> Self {
        let database = postgres();
        let [migrator, application, auditor] = ["migrator", "application", "auditor"].map(|role| database.role(role));
        let owner = database.pool(1).await;
        let grants = format!(
            "GRANT CREATE, USAGE ON SCHEMA public TO \"{migrator}\"; GRANT USAGE ON SCHEMA public TO \"{auditor}\";
             {CREATE_REFUNDS}; GRANT ALL ON refunds TO \"{application}\""
        );
        sent(&owner, &grants).await;
        let roles = PgRoles::try_new(&migrator, &application, &auditor).expect("roles");
        let sql = PgStore::migrations_sql("idem_", Some(&roles)).expect("SQL");
        by_program(
            Command::new("psql").args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.url(), "-f", "-"]),
            &sql,
        )
        .expect("psql has run the script");
        Self {
            owner,
            migrator,
            application,
            auditor,
            database,
        }
    }

    async fn as_role(&self, role: &str) -> PgPool {
        pool_as(self.database.url(), role.to_owned()).await
    }
}

async fn sent(pool: &PgPool, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(pool).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Has a program run a script from its standard input; what it says where it fails.
fn by_program(command: &mut Command, script: &str) -> Result<(), String> {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped
        .spawn()
        .map_err(|error| format!("{command:?} does not start: {error}; install PostgreSQL's client programs"))?;
    // Both programs read to the end before they say much.
    let mut stdin = child.stdin.take().expect("it is piped");
    let wrote = stdin.write_all(script.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    match output.status.success() && output.stderr.is_empty() && wrote.is_ok() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// All that an application does, with keys that begin with `case`.
async fn uses(idem: &Idem<PgStore>, case: &str) -> Result<(), Error> {
    use crate::engine::postgres::{Connection, never, pay, receipt};
    idem.store().check().await?;
    let refund = Refund::new(case, 1);
    let pays = async |tx: &mut Connection| pay(tx, case).await;
    assert!(!idem.transaction(&refund, pays).await?.is_replayed());
    assert!(idem.transaction(&refund, never).await?.is_replayed());
    let mismatch = idem.transaction(&Refund::new(case, 2), never).await.unwrap_err();
    if mismatch.kind() != ErrorKind::Mismatch {
        return Err(mismatch);
    }
    for (name, answers) in [("answered", true), ("lost", false)] {
        let outside = Refund::new(&format!("{case} {name}"), 1);
        let done = idem.run(&outside, Recovery::Hold, async move |_: Effect| match answers {
            true => Ok(receipt("outside")),
            false => Err(EffectError::new("no answer")),
        });
        match done.await {
            Ok(done) => assert!(answers && !done.is_replayed()),
            Err(error) if answers || error.kind() == ErrorKind::Store => return Err(error),
            Err(_) => {}
        }
    }
    let stuck = idem.stuck(Duration::ZERO, 10).await?;
    assert_eq!(stuck.len(), 1, "{stuck:?}");
    let told = Resolution::Happened(receipt("outside"));
    idem.by_hand("ada", "looked")
        .resolve(&stuck[0].key, stuck[0].attempt, told)
        .await?;
    let key = idem.call(&refund).key()?;
    idem.by_hand("ada", "wrong card").revoke(&key, 1).await?;
    idem.by_hand("ada", "again").reopen(&key, 1).await?;
    assert!(!idem.transaction(&refund, pays).await?.is_replayed());
    sqlx::query("UPDATE idem_record SET expires_at = now() WHERE status = 1")
        .execute(idem.store().pool())
        .await
        .map_err(|error| Error::store("let the records of the test expire", error))?;
    assert!(idem.purge_expired(100).await? > 0);
    let error = idem.transaction(&refund, never).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted, "{error:?}");
    Ok(())
}

/// The rights of the application, which the documentation of `PgRoles` lists.
const RIGHTS: [(&str, &str); 9] = [
    ("idem_ledger", "INSERT"),
    ("idem_ledger", "SELECT"),
    ("idem_ledger_detail", "INSERT"),
    ("idem_ledger_detail", "SELECT"),
    ("idem_record", "DELETE"),
    ("idem_record", "INSERT"),
    ("idem_record", "SELECT"),
    ("idem_record", "UPDATE"),
    ("idem_schema", "SELECT"),
];

#[tokio::test]
async fn the_script_that_psql_runs_gives_the_application_what_it_needs_and_no_more() {
    let granted = Granted::new().await;
    let app = granted.as_role(&granted.application).await;
    let store = PgStore::new(app.clone());
    store.check().await.expect("complete, for the application's role");
    let idem = Idem::new(store.open().await.expect("opened"));
    uses(&idem, "K").await.expect("its rights are enough");

    let rights = "SELECT table_name::text, privilege_type::text FROM information_schema.role_table_grants
        WHERE grantee = $1 AND table_name LIKE 'idem%' ORDER BY 1, 2";
    let rights: Vec<(String, String)> = sqlx::query_as(rights)
        .bind(&granted.application)
        .fetch_all(&granted.owner)
        .await
        .expect("the rights");
    let rights: Vec<_> = rights.iter().map(|(table, right)| (&**table, &**right)).collect();
    assert_eq!(rights, RIGHTS);
    for (table, right) in RIGHTS {
        let role = &granted.application;
        sent(&granted.owner, &format!("REVOKE {right} ON {table} FROM \"{role}\"")).await;
        let error = uses(&idem, &format!("without {right} on {table}")).await;
        let error = error.expect_err(&format!("nothing needs {right} on {table}"));
        assert_eq!(error.kind(), ErrorKind::Store, "{right} on {table}: {error:?}");
        sent(&granted.owner, &format!("GRANT {right} ON {table} TO \"{role}\"")).await;
        // What the call before the missing right has left is told, so that the next round finds nothing open.
        sent(
            &granted.owner,
            "UPDATE idem_record SET status = 2 WHERE status IN (0, 3)",
        )
        .await;
    }
    uses(&idem, "K again").await.expect("all is as it was");
    let twice = "SELECT count(*) FROM (SELECT FROM idem_ledger WHERE kind = 'executed'
        GROUP BY tenant, idem_key, generation HAVING count(*) > 1) AS twice";
    let twice: i64 = sqlx::query_scalar(twice)
        .fetch_one(&granted.owner)
        .await
        .expect("a count");
    assert_eq!(twice, 0);
}

#[tokio::test]
async fn the_auditor_reads_and_nobody_changes_the_ledger() {
    let granted = Granted::new().await;
    let app = granted.as_role(&granted.application).await;
    let idem = Idem::new(PgStore::new(app.clone()).open().await.expect("opened"));
    uses(&idem, "K").await.expect("entries");

    let audit = granted.as_role(&granted.auditor).await;
    for table in ["idem_record", "idem_ledger", "idem_ledger_detail", "idem_schema"] {
        sent(&audit, &format!("SELECT * FROM {table}")).await;
    }
    PgStore::new(audit.clone())
        .check()
        .await
        .expect("the auditor may check");
    let migrator = granted.as_role(&granted.migrator).await;
    let stranger = granted.as_role(&granted.database.role("stranger")).await;
    let denied = [
        (&app, "UPDATE idem_ledger SET action = 'x'"),
        (&app, "DELETE FROM idem_ledger"),
        (&app, "TRUNCATE idem_ledger"),
        (&app, "DROP TABLE idem_ledger"),
        (&app, "ALTER TABLE idem_ledger DISABLE TRIGGER ALL"),
        (&app, "UPDATE idem_ledger_detail SET subject = NULL"),
        (&app, "DELETE FROM idem_ledger_detail"),
        (&app, "ALTER TABLE idem_record ADD COLUMN x int"),
        (&app, "INSERT INTO idem_schema VALUES (9, 9)"),
        (&app, "SELECT * FROM idem_never"),
        (&audit, "DELETE FROM idem_record"),
        (&audit, "UPDATE idem_record SET attempt = 9"),
        (&audit, "DELETE FROM idem_ledger"),
        (
            &audit,
            "INSERT INTO idem_ledger_detail (seq, tenant, preimage, salt) VALUES (99, 'a', 'b', 'c')",
        ),
        (&stranger, "SELECT * FROM idem_ledger"),
        (&stranger, "DELETE FROM idem_ledger"),
        // The owner would have to drop the trigger first, which only an owner can.
        (&migrator, "UPDATE idem_ledger SET action = 'x'"),
        (&migrator, "DELETE FROM idem_ledger"),
        (&migrator, "TRUNCATE idem_ledger"),
    ];
    for (pool, sql) in denied {
        let error = sqlx::raw_sql(sql).execute(pool).await.expect_err(sql);
        let said = error.to_string();
        assert!(
            ["permission denied", "must be owner", "append-only"]
                .iter()
                .any(|refusal| said.contains(refusal)),
            "{sql}: {said}"
        );
    }
    let mut tx = migrator.begin().await.expect("begun");
    let erase = "ALTER TABLE idem_ledger DISABLE TRIGGER idem_ledger_append_only; DELETE FROM idem_ledger";
    sqlx::raw_sql(erase)
        .execute(&mut *tx)
        .await
        .expect("the owner alone can");
    tx.rollback().await.expect("rolled back");
}

#[tokio::test]
async fn a_script_that_fails_half_way_leaves_nothing() {
    let database = postgres();
    let pool = database.pool(1).await;
    sent(&pool, "CREATE TABLE idem_ledger_detail (x int)").await;
    let sql = PgStore::migrations_sql("idem_", None).expect("SQL");
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.url(), "-f", "-"]);
    let said = by_program(&mut psql, &sql).expect_err("a table of that name is there");
    assert!(said.contains("idem_ledger_detail"), "{said}");
    assert_eq!(crate::engine::postgres::tables(&pool).await, ["idem_ledger_detail"]);
}

#[tokio::test]
async fn the_script_that_sqlite3_runs_makes_tables_that_are_complete() {
    use crate::engine::sqlite::{Connection, never, pay, receipt};
    let database = sqlite();
    let sql = SqliteStore::migrations_sql("idem_").expect("SQL");
    let mut sqlite3 = Command::new("sqlite3");
    let by_hand = by_program(sqlite3.arg("-bail").arg(database.path()), &sql);
    let pool = database.pool(2).await;
    if let Err(said) = by_hand {
        assert!(said.contains("does not start"), "{said}");
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&pool)
            .await
            .expect("made by hand");
    }
    sqlx::raw_sql(CREATE_REFUNDS)
        .execute(&pool)
        .await
        .expect("the table of the effects");
    let store = SqliteStore::new(pool.clone());
    store.check().await.expect("complete");
    let idem = Idem::new(store.open().await.expect("opened"));
    let refund = Refund::new("K", 1);
    let done = idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await);
    assert!(!done.await.expect("runs").is_replayed());
    assert!(idem.transaction(&refund, never).await.expect("a replay").is_replayed());
    let outside = Refund::new("outside", 1);
    for again in [false, true] {
        let done = idem
            .run(&outside, Recovery::Hold, async |_: Effect| Ok(receipt("outside")))
            .await;
        assert_eq!(done.expect("runs").is_replayed(), again);
    }
    let error = sqlx::raw_sql("DELETE FROM idem_ledger")
        .execute(&pool)
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("append-only"), "{error}");
    // They are what `migrate` makes.
    SqliteStore::new(pool).migrate().await.expect("nothing to do");
}
