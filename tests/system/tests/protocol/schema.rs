//! The tables: how they come to be, who may use them, and what is said when they cannot be used or read.

use idem::{Basis, Begun, Digest, Error, ErrorKind, Model, Settings, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use crate::engine::on_both_databases;
use crate::support::{Receipt, Refund};

const PROCESSES: usize = 8;

#[track_caller]
fn assert_schema(error: &Error, what_to_do: &str) {
    assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
    assert!(!error.is_retryable());
    assert!(error.to_string().contains(what_to_do), "{error}");
}

/// What was decided, and on what basis.
#[idempotent(action = "refund.decide", key = [case_id], subject = case_id, tenant = none)]
#[derive(Serialize, Deserialize)]
struct Decided {
    case_id: String,
    cents: i64,
    #[basis]
    decided_by: Basis,
}

impl Decided {
    fn new(cents: i64) -> Self {
        let decided_by = Basis {
            model: Model::try_new("gpt-x", "2026-08-14").expect("a model"),
            prompt_template_sha256: Digest::of("You are …"),
            retrieval_snapshot_id: Some("snap-1".into()),
            policy_version: "30".into(),
            approver: Some("ada".into()),
        };
        Self {
            case_id: "Fall „7“".into(),
            cents,
            decided_by,
        }
    }
}

on_both_databases! {
    async fn eight_that_start_at_once_make_the_tables_once() {
        let database = fresh();
        let tasks: Vec<_> = (0..PROCESSES)
            .map(|n| {
                let url = database.url().to_owned();
                tokio::spawn(async move {
                    let idem = idem::Idem::new(Store::connect(&url).await?);
                    idem.transaction(&Refund::new(&n.to_string(), 1), async |_: &mut Connection| Ok(n)).await
                })
            })
            .collect();
        for task in tasks {
            assert!(!task.await.expect("no panic").expect("migrated and run").is_replayed());
        }
        let pool = database.pool(1).await;
        let versions: Vec<i64> = sqlx::query_scalar("SELECT version FROM idem_schema").fetch_all(&pool).await.expect("versions");
        assert_eq!(versions, [1]);
        let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_ledger").fetch_one(&pool).await.expect("a count");
        assert_eq!(entries, 8);
    }

    async fn open_on_an_empty_database_says_that_it_must_be_migrated() {
        let database = fresh();
        let pool = database.pool(1).await;
        let error = Store::new(pool.clone()).open().await.err().expect("refused");
        assert_schema(&error, "run `migrate()` on the store once");
        // It changed nothing, and what it asked for helps.
        assert_eq!(tables(&pool).await, [""; 0]);
        Store::new(pool.clone()).migrate().await.expect("migrated");
        Store::new(pool.clone()).migrate().await.expect("again");
        Store::new(pool).open().await.expect("opened");
    }

    async fn a_store_that_was_not_opened_says_that_the_tables_are_missing() {
        let database = fresh();
        let idem = idem::Idem::new(Store::new(database.pool(1).await));
        let error = idem.transaction(&Refund::new("K", 1), never).await.unwrap_err();
        assert_schema(&error, "run `migrate()` on the store once");
    }

    async fn tables_that_need_newer_code_are_refused() {
        let world = World::new().await;
        run(&world.outside, "INSERT INTO idem_schema (version, min_reader) VALUES (3, 2)").await;
        let refused = [
            Store::new(world.outside.clone()).open().await.err().expect("open"),
            Store::new(world.outside.clone()).migrate().await.err().expect("migrate"),
            Store::connect(&[world.database.url()].concat()).await.err().expect("connect"),
        ];
        for error in refused {
            assert_schema(&error, "upgrade idem-sqlx in this program");
            assert!(error.to_string().contains("version 2 or newer (`idem_schema.min_reader`), and this code knows 1"), "{error}");
        }
    }

    async fn newer_tables_that_older_code_may_use_are_used() {
        let world = World::new().await;
        run(&world.outside, "INSERT INTO idem_schema (version, min_reader) VALUES (2, 1)").await;
        Store::new(world.outside.clone()).migrate().await.expect("nothing to do");
        let store = Store::new(world.outside.clone()).open().await.expect("opened");
        let idem = idem::Idem::new(store);
        let refund = Refund::new("K", 1);
        assert!(!idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await.expect("runs").is_replayed());
    }

    async fn older_tables_are_refused_by_open() {
        let world = World::new().await;
        run(&world.outside, "UPDATE idem_schema SET version = 0, min_reader = 0").await;
        let error = Store::new(world.outside.clone()).open().await.err().expect("refused");
        assert_schema(&error, "run `migrate()` on the store once");
        assert!(error.to_string().contains("have schema version 0, and this code needs 1"), "{error}");
    }

    async fn two_installations_in_one_database_do_not_meet() {
        let world = World::new().await;
        let other = Store::new(world.database.pool(2).await).table_prefix("billing_").expect("a prefix");
        let other = idem::Idem::new(other.migrate().await.expect("migrated"));
        let refund = Refund::new("K", 10);
        if IS_POSTGRES {
            // A claim of the one is no claim of the other. (SQLite has one writer at a time in any case.)
            let Begun::Execute(guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
                panic!("nothing is recorded")
            };
            let Begun::Execute(another) = other.call(&refund).begin::<Receipt>().await.expect("a claim") else {
                panic!("nothing is recorded")
            };
            drop((guard, another));
        }
        let ours = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "ours").await).await.expect("runs");
        let theirs = other.transaction(&Refund::new("K", 11), async |tx: &mut Connection| pay(tx, "theirs").await).await;
        assert!(!ours.is_replayed() && !theirs.expect("runs").is_replayed());
        assert_eq!(world.effects().await, ["ours", "theirs"]);
        assert_eq!((world.count("idem_ledger").await, world.count("billing_ledger").await), (1, 1));
        run_fails(&world.outside, "DELETE FROM billing_ledger", "append-only").await;
    }

    async fn the_ledger_takes_no_changes() {
        let world = World::new().await;
        world.idem.transaction(&Refund::new("K", 1), async |tx: &mut Connection| pay(tx, "K").await).await.expect("runs");
        run_fails(&world.outside, "UPDATE idem_ledger SET action = 'x'", "the idem ledger is append-only: UPDATE").await;
        run_fails(&world.outside, "DELETE FROM idem_ledger", "the idem ledger is append-only: DELETE").await;
        run_fails(&world.outside, "DELETE FROM idem_ledger WHERE seq = 1", "append-only").await;
        if IS_POSTGRES {
            run_fails(&world.outside, "TRUNCATE idem_ledger", "the idem ledger is append-only: TRUNCATE").await;
        }
        assert_eq!(world.ledger().await, ["executed"]);
    }

    async fn a_corrupt_record_is_never_absent() {
        let damages = [
            ("status = 9", "status 9"),
            ("mode = 7", "mode 7"),
            ("owner_token = '123'", "another length than 16 bytes"),
            ("fingerprint = '123'", "another length than 32 bytes"),
            ("fingerprint_version = 2", "contradicts itself"),
            ("fingerprint_version = 999", "out of range"),
            ("outcome_kind = NULL, outcome = NULL", "contradicts itself"),
            ("outcome_kind = 5", "kind 5"),
            ("outcome_type = NULL", "`outcome_type` is empty"),
            ("attempt = -1", "`attempt` holds -1"),
            ("generation = -1", "`generation` holds -1"),
        ];
        let world = World::new().await;
        let probing = world.apart_with(Settings::default().probe(true)).await;
        without_checks(&world.outside).await;
        for (damage, told) in damages {
            let refund = Refund::new(damage, 1);
            world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, damage).await).await.expect("it runs");
            let key = world.idem.call(&refund).key().expect("a key");
            damaged(&world.outside, &format!("UPDATE idem_record SET {damage} WHERE idem_key = '{}'", key.as_str())).await;
            let mut tx = begin(&world.pool).await;
            let joined = world.idem.call(&refund).join(&mut tx, never).await;
            put(&mut tx, "x").await.expect("the caller's transaction is usable");
            tx.rollback().await.expect("rolled back");
            let errors = [
                world.idem.transaction(&refund, never).await.unwrap_err(),
                probing.transaction(&refund, never).await.unwrap_err(),
                world.idem.call(&refund).begin::<Receipt>().await.err().expect("refused"),
                joined.unwrap_err(),
            ];
            // Another payload does not run either.
            let error = world.idem.transaction(&Refund::new(damage, 2), never).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Mismatch), "{damage}: {error:?}");
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{damage}: {error:?}");
                assert!(!error.is_retryable(), "{damage}");
                assert!(text(&error).contains(told), "{damage}: {}", text(&error));
            }
        }
        assert_eq!(world.effects().await.len(), damages.len());
        world.assert_connection_is_clean().await;
    }

    async fn an_entry_of_a_newer_fingerprint_is_no_mismatch() {
        let world = World::new().await;
        let refund = Refund::new("K", 1);
        world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await.expect("it runs");
        // The record has been purged, and newer code has written the entry.
        run(&world.outside, "DELETE FROM idem_record").await;
        without_triggers(&world.outside).await;
        run(&world.outside, "UPDATE idem_ledger SET fingerprint_version = 2").await;
        let error = world.idem.transaction(&refund, never).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    }

    async fn the_applications_own_migrations_are_left_alone() {
        let database = fresh();
        let pool = database.pool(1).await;
        run(&pool, "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL)").await;
        run(&pool, "INSERT INTO _sqlx_migrations VALUES (20260101000000, 'the first')").await;
        Store::new(pool.clone()).migrate().await.expect("migrated");
        let left: Vec<String> = sqlx::query_scalar("SELECT description FROM _sqlx_migrations").fetch_all(&pool).await.expect("rows");
        assert_eq!(left, ["the first"]);
        assert_eq!(tables(&pool).await, ["_sqlx_migrations", "idem_ledger", "idem_ledger_detail", "idem_never", "idem_record", "idem_schema"]);
    }

    async fn the_commitment_to_the_detail_can_be_computed_again() {
        let world = World::new().await;
        let approved = Basis { approver: None, ..Decided::new(1).decided_by };
        let calls = [
            world.idem.call(&Decided::new(1)).transaction(async |tx: &mut Connection| pay(tx, "K").await).await.is_ok(),
            world.idem.call(&Decided::new(2)).basis(approved).transaction(never).await.is_ok(),
            world.idem.transaction(&Noted { place: "p".into() }, async |tx: &mut Connection| pay(tx, "L").await).await.is_ok(),
        ];
        assert_eq!(calls, [true, false, true]);
        let rows = sqlx::query(
            "SELECT e.detail_commitment, d.salt, d.subject, d.preimage, d.basis FROM idem_ledger e JOIN idem_ledger_detail d USING (seq)",
        );
        let rows = rows.fetch_all(&world.outside).await.expect("entries and details");
        assert_eq!(rows.len(), 3);
        for row in rows {
            let [subject, basis]: [Option<String>; 2] = [row.get("subject"), row.get("basis")];
            let content = serde_json::json!({ "basis": basis, "preimage": row.get::<String, _>("preimage"), "subject": subject });
            let content = serde_json_canonicalizer::to_vec(&content).expect("canonical JSON");
            let salt: Vec<u8> = row.get("salt");
            assert_eq!(salt.len(), 16);
            let commitment: Vec<u8> = row.get("detail_commitment");
            assert_eq!(commitment, Digest::of([salt, content].concat()).as_bytes());
        }
    }

    async fn the_parts_of_a_basis_are_columns() {
        let world = World::new().await;
        let decided = Decided::new(1);
        world.idem.transaction(&decided, async |tx: &mut Connection| pay(tx, "K").await).await.expect("it runs");
        let row = sqlx::query(
            "SELECT tenant, subject, basis, model_id, model_version, prompt_sha256, snapshot_id, policy_version, approver FROM idem_ledger_detail",
        );
        let row = row.fetch_one(&world.outside).await.expect("the detail");
        let column = |name: &str| row.get::<Option<String>, _>(name).unwrap_or_default();
        let prompt = decided.decided_by.prompt_template_sha256.to_string();
        for (name, expected) in [
            ("tenant", "-"),
            ("subject", "Fall „7“"),
            ("model_id", "gpt-x"),
            ("model_version", "2026-08-14"),
            ("prompt_sha256", prompt.as_str()),
            ("snapshot_id", "snap-1"),
            ("policy_version", "30"),
            ("approver", "ada"),
        ] {
            assert_eq!(column(name), expected, "{name}");
        }
        let basis: serde_json::Value = serde_json::from_str(&column("basis")).expect("JSON");
        assert_eq!(basis["decided_by"]["promptTemplateSha256"], prompt);
    }
}

/// No subject, no basis.
#[idempotent(action = "note.add", key = [place], tenant = none)]
#[derive(Serialize, Deserialize)]
struct Noted {
    place: String,
}

mod unreachable {
    use std::time::Instant;

    use idem::{Idem, PgStore, SqliteStore};
    use idem_system_tests::{postgres, sqlite};
    use sqlx::postgres::PgPoolOptions;

    use super::*;
    use crate::engine::postgres::{never, text};

    #[track_caller]
    fn assert_store(error: &Error, says: &[&str]) {
        assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
        for said in says {
            assert!(text(error).contains(said), "`{said}` is not in `{}`", text(error));
        }
    }

    #[tokio::test]
    async fn a_server_that_is_down_is_told_at_once_and_with_what_to_check() {
        let began = Instant::now();
        // Nobody listens on the port of tcpmux.
        let error = PgStore::connect("postgres://me:secret@127.0.0.1:1/app")
            .await
            .err()
            .expect("refused");
        assert_store(
            &error,
            &[
                "could not connect to PostgreSQL",
                "check that the server runs",
                "refused",
            ],
        );
        assert!(error.is_retryable());
        assert!(!format!("{error:?} {}", text(&error)).contains("secret"));
        assert!(began.elapsed().as_secs() < 10, "it waited for a pool");
    }

    #[tokio::test]
    async fn a_database_that_is_not_there_is_told() {
        let database = postgres();
        let error = PgStore::connect(&format!("{}_none", database.url()))
            .await
            .err()
            .expect("refused");
        assert_store(&error, &["could not connect to PostgreSQL", "does not exist"]);
        assert!(!error.is_retryable());
        let error = PgStore::connect("mysql://x").await.err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error:?}");
        assert!(error.to_string().contains("`postgres://user@host/database`"), "{error}");
    }

    #[tokio::test]
    async fn a_server_that_goes_away_is_a_retryable_error_and_comes_back() {
        let database = postgres();
        sqlx::query(crate::support::CREATE_REFUNDS)
            .execute(&mut database.connect().await)
            .await
            .expect("a table");
        let wire = database.wire();
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .acquire_timeout(std::time::Duration::from_secs(1))
            .connect(wire.url())
            .await
            .expect("a pool");
        let idem = Idem::new(PgStore::new(pool).migrate().await.expect("migrated"));
        wire.refuse(true);
        wire.sever();
        for _ in 0..2 {
            let error = idem.transaction(&Refund::new("K", 1), never).await.unwrap_err();
            assert_store(&error, &[]);
            assert!(error.is_retryable(), "{error:?}");
        }
        wire.refuse(false);
        let refund = Refund::new("K", 1);
        let done = idem.transaction(&refund, async |tx: &mut sqlx::PgConnection| {
            crate::engine::postgres::pay(tx, "K").await
        });
        assert!(!done.await.expect("it is back").is_replayed());
    }

    #[tokio::test]
    async fn a_sqlite_file_that_cannot_be_opened_is_told_with_its_path() {
        let database = sqlite();
        let folder = database.path().parent().expect("a folder").join("missing");
        let url = format!("sqlite://{}/x.sqlite?mode=rwc", folder.display());
        let error = SqliteStore::connect(&url).await.err().expect("refused");
        assert_store(&error, &[&url, "the folder must exist", "unable to open"]);
        assert!(!folder.exists());

        let url = format!("sqlite://{}", database.path().display());
        let error = SqliteStore::connect(&url).await.err().expect("refused");
        assert_store(&error, &[&url, "`?mode=rwc` creates a missing file"]);
        assert!(!database.path().exists());
    }
}
