//! Callers that use the helper wrongly, and input that no storage takes: nothing is reported as done, nothing is left
//! half-written, and the pooled connection is clean.

use std::collections::HashMap;
use std::time::Duration;

use idem::{Basis, Begun, Digest, Done, EffectError, Error, ErrorKind, Idem, Model, PgStore};
use idem_system_tests::postgres;
use sqlx::PgConnection;

use crate::engine::on_both_databases;
use crate::support::{Receipt, Refund};

/// How an effect may end its transaction. No database commits a claim without its outcome: PostgreSQL rolls back instead,
/// and SQLite refuses and goes on, which is no ending at all.
const ENDINGS: [&str; 2] = ["ROLLBACK", "ROLLBACK; BEGIN"];
const ENDINGS_OF_POSTGRES: [&str; 4] = ["COMMIT", "COMMIT; BEGIN", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN"];

fn endings(is_postgres: bool) -> impl Iterator<Item = &'static str> {
    ENDINGS
        .into_iter()
        .chain(ENDINGS_OF_POSTGRES.into_iter().filter(move |_| is_postgres))
}

#[track_caller]
fn assert_misuse(case: &str, error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Misuse, "{case}: {error:?}");
    assert!(!error.is_retryable(), "{case}");
}

on_both_databases! {
    async fn an_effect_that_ends_its_transaction_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            let refund = Refund::new(sql, 10);
            let error = world.idem.transaction(&refund, async |tx: &mut Connection| {
                put(tx, sql).await?;
                let _ = send(tx, sql).await;
                Ok(receipt(sql))
            });
            let error = error.await.unwrap_err();
            assert_misuse(sql, &error);
            assert!(error.to_string().contains("ended the transaction"), "{error}");
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;
        }
    }

    async fn an_effect_that_ends_its_transaction_and_goes_on_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            let refund = Refund::new(sql, 10);
            let error = world.idem.call(&refund).transaction_once(async |tx: &mut Connection| {
                let _ = send(tx, sql).await;
                pay(tx, sql).await
            });
            assert_misuse(sql, &error.await.unwrap_err());
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;
        }
    }

    async fn without_ledger_an_effect_that_ends_its_transaction_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            let refund = Refund::new(sql, 10);
            let error = world.idem.call(&refund).without_ledger().transaction(async |tx: &mut Connection| {
                put(tx, sql).await?;
                let _ = send(tx, sql).await;
                Ok(receipt(sql))
            });
            assert_misuse(sql, &error.await.unwrap_err());
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;
        }
    }

    async fn an_effect_that_ends_its_transaction_and_fails_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            let refund = Refund::new(sql, 10);
            let error = world.idem.transaction(&refund, async |tx: &mut Connection| {
                put(tx, sql).await?;
                send(tx, sql).await?;
                Err::<Receipt, _>(EffectError::nothing_happened("so it says"))
            });
            // "Nothing was committed" would be wrong.
            assert_misuse(sql, &error.await.unwrap_err());
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;

            let refund = Refund::new(&format!("final {sql}"), 10);
            let error = world.idem.transaction(&refund, async |tx: &mut Connection| {
                send(tx, sql).await?;
                Err::<Receipt, _>(EffectError::final_("no"))
            });
            assert_misuse(sql, &error.await.unwrap_err());
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;
        }
    }

    async fn a_guard_whose_transaction_was_ended_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            for how in ["complete", "decline", "roll back"] {
                let case = format!("{how} after {sql}");
                let refund = Refund::new(&case, 10);
                let Begun::Execute(mut guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
                    panic!("nothing is recorded")
                };
                put(guard.connection(), &case).await.expect("the effect");
                let _ = send(guard.connection(), sql).await;
                let error = match how {
                    "complete" => guard.complete(receipt("K")).await.unwrap_err(),
                    "decline" => guard.decline("no").await.unwrap_err(),
                    _ => guard.roll_back().await.unwrap_err(),
                };
                assert_misuse(&case, &error);
                world.assert_connection_is_clean().await;
                world.assert_next_call_tells_the_truth(&refund).await;
            }
        }
    }

    async fn a_guard_whose_transaction_was_ended_may_be_dropped() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            let refund = Refund::new(sql, 10);
            let Begun::Execute(mut guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
                panic!("nothing is recorded")
            };
            let _ = send(guard.connection(), sql).await;
            drop(guard);
            world.assert_connection_is_clean().await;
            world.assert_next_call_tells_the_truth(&refund).await;
        }
    }

    async fn an_effect_that_ends_its_callers_transaction_is_misuse() {
        let world = World::new().await;
        for sql in endings(IS_POSTGRES) {
            for (how, fails) in [("succeeds", false), ("fails", true)] {
                let case = format!("{sql}, then it {how}");
                let refund = Refund::new(&case, 10);
                let mut tx = begin(&world.pool).await;
                let joined = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| {
                    put(tx, &case).await?;
                    send(tx, sql).await?;
                    if fails { Err(EffectError::nothing_happened("so it says")) } else { Ok(receipt("K")) }
                });
                assert_misuse(&case, &joined.await.unwrap_err());
                drop(tx);
                world.assert_connection_is_clean().await;
                world.assert_next_call_tells_the_truth(&refund).await;
            }
        }
    }

    async fn a_second_transaction_inside_an_effect_is_misuse() {
        let world = World::new().await;
        let (outer, inner) = (Refund::new("outer", 1), Refund::new("inner", 1));
        let idem = &world.idem;
        let done = idem.transaction(&outer, async |tx: &mut Connection| {
            assert_misuse("transaction", &idem.transaction(&inner, never).await.unwrap_err());
            assert_misuse("once", &idem.call(&inner).transaction_once(never).await.unwrap_err());
            let begun = idem.call(&inner).begin::<Receipt>().await;
            let error = begun.err().expect("refused");
            assert_misuse("begin", &error);
            assert!(error.to_string().contains("`.join(tx, ..)`"), "{error}");
            assert_misuse("its own key", &idem.call(&outer).join(tx, never).await.unwrap_err());
            let joined = idem.call(&inner).join(tx, async |tx: &mut Connection| pay(tx, "inner").await).await?;
            assert!(!joined.is_replayed());
            pay(tx, "outer").await
        });
        assert!(!done.await.expect("committed").is_replayed());
        assert_eq!(world.effects().await, ["inner", "outer"]);
        assert!(idem.transaction(&inner, never).await.expect("recorded").is_replayed());
    }

    async fn a_failing_outer_effect_takes_the_joined_one_with_it() {
        let world = World::new().await;
        let (outer, inner) = (Refund::new("outer", 1), Refund::new("inner", 1));
        let idem = &world.idem;
        let failed = idem.transaction(&outer, async |tx: &mut Connection| {
            idem.call(&inner).join(tx, async |tx: &mut Connection| pay(tx, "inner").await).await?;
            Err::<Receipt, _>(EffectError::nothing_happened("no"))
        });
        assert_eq!(failed.await.unwrap_err().kind(), ErrorKind::Effect);
        world.assert_untouched().await;
    }

    async fn join_without_an_open_transaction_is_misuse() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let mut connection = world.pool.acquire().await.expect("a connection");
        let error = world.idem.call(&refund).join(&mut connection, never).await.unwrap_err();
        assert_misuse("no transaction", &error);
        assert!(error.to_string().contains("need an open transaction; begin one with `pool.begin"), "{error}");

        // The driver does not know of it, so no savepoint of its own would be one.
        send(&mut connection, "BEGIN").await.expect("a transaction behind the driver's back");
        let error = world.idem.call(&refund).join(&mut connection, never).await.unwrap_err();
        assert_misuse("raw BEGIN", &error);
        assert!(error.to_string().contains("BEGIN sent as a statement does not count"), "{error}");
        send(&mut connection, "ROLLBACK").await.expect("rolled back");
        drop(connection);
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
    }

    async fn an_outcome_that_cannot_be_encoded_commits_nothing() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        // JSON's names are strings.
        let unwritable = async |tx: &mut Connection| {
            put(tx, "undone").await?;
            Ok(HashMap::from([((1_u8, 2_u8), 3_u8)]))
        };
        let error = world.idem.transaction(&refund, unwritable).await.unwrap_err();
        assert_misuse("transaction", &error);
        assert!(text(&error).contains("cannot be written as JSON and read back"), "{}", text(&error));
        let mut tx = begin(&world.pool).await;
        assert_misuse("join", &world.idem.call(&refund).join(&mut tx, unwritable).await.unwrap_err());
        tx.commit().await.expect("the caller's transaction is usable");
        let declined = world.idem.transaction(&refund, async |_: &mut Connection| {
            Err::<Receipt, _>(EffectError::final_(&HashMap::from([((1_u8, 2_u8), 3_u8)])))
        });
        assert_misuse("final error", &declined.await.unwrap_err());
        let Begun::Execute(guard) = world.idem.call(&refund).begin().await.expect("a claim") else {
            panic!("nothing is recorded")
        };
        assert_misuse("guard", &guard.complete(HashMap::from([((1_u8, 2_u8), 3_u8)])).await.unwrap_err());
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
    }

    async fn text_that_no_column_takes_is_refused_before_anything_runs() {
        let world = World::new().await;
        let good = Refund::new("K", 10);
        let basis = Basis {
            model: Model::try_new("m", "2026-01-01").expect("a model"),
            prompt_template_sha256: Digest::of("prompt"),
            retrieval_snapshot_id: None,
            policy_version: "policy\0".into(),
            approver: None,
        };
        let long = "x".repeat(1025);
        let idem = &world.idem;
        let cases = [
            ("subject", idem.call(&Refund::new("a\0b", 10)).transaction(never).await),
            ("step id", idem.call(&good).step_id("a\0b").transaction(never).await),
            ("run id", idem.call(&good).run_id("\0").transaction(never).await),
            ("policy version", idem.call(&good).basis(basis).transaction(never).await),
        ];
        for (what, result) in cases {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidKey, "{what}: {}", text(&error));
            assert!(error.to_string().contains(what) && error.to_string().contains("U+0000"), "{what}: {error}");
        }
        let cases = [
            ("subject", idem.call(&Refund::new(&long, 10)).transaction(never).await),
            ("step id", idem.call(&good).step_id(long.clone()).transaction(never).await),
            ("run id", idem.call(&good).run_id(long.clone()).transaction(never).await),
        ];
        for (what, result) in cases {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidKey, "{what}: {}", text(&error));
            let message = error.to_string();
            assert!(message.contains(what) && message.contains("1025 bytes") && message.contains("1024"), "{message}");
        }
        let mut tx = begin(&world.pool).await;
        let error = idem.call(&good).step_id("a\0b").join(&mut tx, never).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidKey);
        tx.commit().await.expect("usable");
        assert_eq!(idem.call(&good).run_id(long).begin::<Receipt>().await.err().expect("refused").kind(), ErrorKind::InvalidKey);
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
    }

    async fn the_longest_text_that_is_allowed_is_kept() {
        let world = World::new().await;
        // Not compressible, so that an index entry is as long as it looks.
        let long: String = (0..26).map(|n| Digest::of(format!("{n}")).to_string()).collect::<String>()[..1024].to_owned();
        let refund = Refund::new(&long, 10);
        for replayed in [false, true] {
            let call = world.idem.call(&refund).step_id(long.clone()).run_id(long.clone());
            let done = call.transaction(async |tx: &mut Connection| pay(tx, "K").await).await.expect("kept");
            assert_eq!(done.is_replayed(), replayed);
        }
        let subject: String = sqlx::query_scalar("SELECT subject FROM idem_ledger_detail")
            .fetch_one(&world.outside).await.expect("the detail");
        assert_eq!(subject, long);
    }

    async fn an_outcome_and_a_payload_with_a_nul_are_kept_as_they_are() {
        let world = World::new().await;
        let noted = Noted { case_id: "K".into(), part: "a\0b".into(), note: "c\0d".into() };
        for _ in 0..2 {
            let done = world.idem.transaction(&noted, async |tx: &mut Connection| {
                put(tx, "K").await?;
                Ok("e\0f".to_owned())
            });
            assert_eq!(done.await.expect("kept").into_inner(), "e\0f");
        }
        let preimage: String = sqlx::query_scalar("SELECT preimage FROM idem_ledger_detail")
            .fetch_one(&world.outside).await.expect("the detail");
        assert!(preimage.contains("a\\u0000b"), "{preimage}");
        // A prefix of it is another key.
        let other = Noted { part: "a".into(), ..noted };
        let done = world.idem.transaction(&other, async |tx: &mut Connection| pay(tx, "other").await).await;
        assert!(!done.expect("it runs").is_replayed());
    }

    async fn a_retention_beyond_every_calendar_counts_as_a_thousand_years() {
        let world = World::new().await;
        for (case, retention) in [("max", Duration::MAX), ("million years", Duration::from_secs(31_557_600_000_000))] {
            let refund = Refund::new(case, 10);
            let run = world.idem.call(&refund).retention(retention);
            let done = run.transaction(async |tx: &mut Connection| pay(tx, case).await).await.expect("it runs");
            assert_eq!(done, Done::Executed(receipt(case)));
            assert!(world.apart().await.transaction(&refund, never).await.expect("kept").is_replayed());
        }
        let error = world.idem.call(&Refund::new("none", 10)).retention(Duration::ZERO).transaction(never).await.unwrap_err();
        assert_misuse("zero", &error);
        assert!(error.to_string().contains("retention below one millisecond"), "{error}");
    }

    async fn a_table_prefix_that_would_need_quoting_is_misuse() {
        let world = World::new().await;
        for prefix in ["", "1x", "Idem_", "a b", "a\"; DROP TABLE refunds; --", "ü", &"x".repeat(33)] {
            let error = Store::new(world.outside.clone()).table_prefix(prefix).err().expect("refused");
            assert_misuse(prefix, &error);
            assert!(error.to_string().contains("cannot be a table prefix; use 1 to 32 of a-z, 0-9 and _"), "{error}");
        }
    }
}

/// A key field and a payload field that are text, and no subject.
#[idem::idempotent(action = "note.add", key = [case_id, part], tenant = none)]
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Noted {
    case_id: String,
    part: String,
    note: String,
}

mod file {
    use super::*;
    use crate::engine::sqlite::*;

    /// SQLite refuses to commit a claim without its outcome, and the transaction stays as it was.
    #[tokio::test]
    async fn a_commit_inside_an_effect_is_refused_and_changes_nothing() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let insists = async |tx: &mut Connection| {
            put(tx, "K").await?;
            send(tx, "COMMIT").await?;
            Ok(receipt("K"))
        };
        let error = world.idem.transaction(&refund, insists).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Effect, "{}", text(&error));
        world.assert_untouched().await;
        let swallows = async |tx: &mut Connection| {
            send(tx, "COMMIT").await.expect_err("refused");
            pay(tx, "K").await
        };
        let done = world.idem.transaction(&refund, swallows).await;
        assert!(!done.expect("it is as if nothing had been sent").is_replayed());
        assert_eq!(world.effects().await, ["K"]);
        world.assert_connection_is_clean().await;
    }
}

/// Who calls again, on another connection, must not find that the key is in use.
#[tokio::test]
async fn an_outcome_that_cannot_be_encoded_is_told_when_it_is_rolled_back() {
    let database = postgres();
    let store = PgStore::new(database.pool(1).await).migrate().await.expect("migrated");
    store.pool().close().await;
    let wire = database.wire();
    let idem = Idem::new(PgStore::connect(wire.url()).await.expect("opened"));
    let refund = Refund::new("K", 10);
    let unwritable = HashMap::from([((1_u8, 2_u8), 3_u8)]);
    let rolled_back = || assert_eq!(wire.statements().last().map(String::as_str), Some("ROLLBACK"));

    let done = idem.transaction(&refund, async |_: &mut PgConnection| Ok(unwritable.clone()));
    assert_misuse("transaction", &done.await.unwrap_err());
    rolled_back();
    for declined in [false, true] {
        wire.reset();
        let Begun::Execute(guard) = idem.call(&refund).begin().await.expect("nothing is in the way") else {
            panic!("nothing is recorded")
        };
        let ended = match declined {
            true => guard.decline(&unwritable).await,
            false => guard.complete(unwritable.clone()).await,
        };
        assert_misuse("guard", &ended.unwrap_err());
        rolled_back();
    }
}
