//! Failures from the field that concern a caller's transaction, completion and the fingerprint.

use std::time::Duration;

use idem::{Begun, EffectError, Error, ErrorKind, Retry, Settings};
use sqlx::Connection as _;

use crate::engine::on_both_databases;
use crate::support::{Receipt, Refund};

on_both_databases! {
    async fn b31_the_callers_transaction_stays_usable_whether_join_wins_or_loses() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        for (round, executes) in [("1", true), ("2", false)] {
            let mut tx = begin(&world.pool).await;
            put(&mut tx, &format!("before {round}")).await.expect("a row before");
            let done = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| pay(tx, "K").await).await;
            let done = done.expect("joined");
            assert_eq!(done.is_replayed(), !executes);
            assert_eq!(*done.get(), receipt("K"));
            // Refused, and usable all the same; the refusal stands with the transaction.
            let error = world.idem.call(&Refund::new("K", 11)).join(&mut tx, never).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            put(&mut tx, &format!("row after {round}")).await.expect("a row after");
            tx.commit().await.expect("committed");
        }
        assert_eq!(world.effects().await, ["K", "before 1", "before 2", "row after 1", "row after 2"]);
        assert_eq!(world.ledger().await, ["executed", "refused mismatch"]);
        world.assert_connection_is_clean().await;
    }

    async fn b31_join_in_a_nested_savepoint_stands_or_falls_with_it() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let mut tx = begin(&world.pool).await;
        {
            let mut inner = tx.begin().await.expect("a savepoint");
            put(&mut inner, "undone").await.expect("a row");
            let done = world.idem.call(&refund).join(&mut inner, async |tx: &mut Connection| pay(tx, "K").await).await;
            assert!(!done.expect("joined").is_replayed());
            put(&mut inner, "undone too").await.expect("a row");
            inner.rollback().await.expect("rolled back");
        }
        for executes in [true, false] {
            let mut inner = tx.begin().await.expect("a savepoint");
            put(&mut inner, "before").await.expect("a row");
            let done = world.idem.call(&refund).join(&mut inner, async |tx: &mut Connection| pay(tx, "K").await).await;
            assert_eq!(done.expect("joined").is_replayed(), !executes);
            put(&mut inner, "row after").await.expect("a row");
            inner.commit().await.expect("released");
        }
        put(&mut tx, "last").await.expect("a row");
        tx.commit().await.expect("committed");
        assert_eq!(world.effects().await, ["K", "before", "before", "last", "row after", "row after"]);
        assert_eq!(world.ledger().await, ["executed"]);
        world.assert_connection_is_clean().await;
    }

    async fn b31_a_join_that_is_rolled_back_by_its_caller_never_happened() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let mut tx = begin(&world.pool).await;
        world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| pay(tx, "K").await).await.expect("joined");
        world.idem.call(&Refund::new("K", 11)).join(&mut tx, never).await.expect_err("a mismatch");
        tx.rollback().await.expect("rolled back");
        world.assert_untouched().await;
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await;
        assert!(!done.expect("it runs").is_replayed());
    }

    async fn b31_an_effect_that_fails_inside_join_undoes_itself_alone() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let mut tx = begin(&world.pool).await;
        put(&mut tx, "before").await.expect("a row");
        let failed = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| {
            put(tx, "undone").await?;
            send(tx, "SELECT * FROM no_such_table").await?;
            Ok(receipt("K"))
        });
        let error = failed.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Effect, "{}", text(&error));
        assert!(error.effect_ref::<sqlx::Error>().is_some());
        put(&mut tx, "row after").await.expect("the transaction is usable");
        let done = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| pay(tx, "K").await).await;
        assert!(!done.expect("nothing was recorded, so it runs").is_replayed());
        tx.commit().await.expect("committed");
        assert_eq!(world.effects().await, ["K", "before", "row after"]);
    }

    async fn b37_a_failing_effect_leaves_no_completion_and_runs_again() {
        let world = World::new().await;
        let event = Refund::new("e1", 10);
        let error = world.idem.transaction(&event, async |tx: &mut Connection| {
            put(tx, "e1").await?;
            send(tx, "UPDATE no_such_table SET x = 1").await?;
            Ok(receipt("e1"))
        });
        let error = error.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Effect, "{}", text(&error));
        assert!(error.to_string().contains("nothing was committed or recorded"));
        world.assert_untouched().await;
        for replayed in [false, true, true] {
            let done = world.idem.transaction(&event, async |tx: &mut Connection| pay(tx, "e1").await).await;
            assert_eq!(done.expect("done").is_replayed(), replayed);
        }
        assert_eq!(world.effects().await, ["e1"]);
        assert_eq!(world.ledger().await, ["executed"]);
        world.assert_connection_is_clean().await;
    }

    async fn b37_a_permanent_failure_is_recorded_as_declined_and_replayed() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        for round in 0..2 {
            let idem = if round == 0 { world.idem.clone() } else { world.apart().await };
            let declined = idem.transaction(&refund, async move |tx: &mut Connection| {
                assert_eq!(round, 0, "the effect ran again");
                put(tx, "undone").await?;
                Err::<Receipt, _>(EffectError::final_("card declined"))
            });
            let error = declined.await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Declined);
            assert!(!error.is_retryable());
            assert_eq!(error.declined::<String>().as_deref(), Some("card declined"));
        }
        assert_eq!(world.effects().await, [""; 0]);
        assert_eq!(world.ledger().await, ["declined"]);

        // In the caller's transaction it is recorded with it.
        let refund = Refund::new("joined", 10);
        let mut tx = begin(&world.pool).await;
        for round in 0..2 {
            let declined = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| {
                assert_eq!(round, 0, "the effect ran again");
                put(tx, "undone").await?;
                Err::<Receipt, _>(EffectError::final_("card declined"))
            });
            assert_eq!(declined.await.unwrap_err().declined::<String>().as_deref(), Some("card declined"));
        }
        tx.commit().await.expect("committed");
        assert_eq!(world.effects().await, [""; 0]);
        assert_eq!(world.ledger().await, ["declined", "declined"]);
        world.assert_connection_is_clean().await;
    }

    async fn b25_every_way_to_a_stored_outcome_compares_the_fingerprint_first() {
        let world = World::new().await;
        let (first, other) = (Refund::new("K", 10), Refund::new("K", 11));
        world.idem.transaction(&first, async |tx: &mut Connection| pay(tx, "K").await).await.expect("it runs");

        let warm = world.idem.clone();
        let cold = world.apart().await;
        let probing = world.apart_with(Settings::default().probe(true)).await;
        let waiting = world.apart_with(Settings::default().wait(Duration::from_secs(5))).await;
        for (name, idem) in [("warm", &warm), ("cold", &cold), ("probe", &probing), ("wait", &waiting)] {
            let error = idem.transaction(&other, never).await.unwrap_err();
            assert_mismatch(name, &error);
            assert_mismatch(name, &idem.call(&other).transaction_once(never).await.unwrap_err());
            assert_mismatch(name, &idem.call(&other).begin::<Receipt>().await.err().expect("a mismatch"));
            let mut tx = begin(&world.pool).await;
            assert_mismatch(name, &idem.call(&other).join(&mut tx, never).await.unwrap_err());
            tx.rollback().await.expect("rolled back");
            assert!(idem.transaction(&first, never).await.expect("the first payload").is_replayed(), "{name}");
            assert!(matches!(idem.call(&first).begin::<Receipt>().await, Ok(Begun::Replayed(_))), "{name}");
        }
        assert_eq!(world.effects().await, ["K"]);
        assert_eq!(world.ledger().await, ["executed", "refused mismatch"], "one refusal, however often it is repeated");
        let fingerprints: i64 = sqlx::query_scalar("SELECT count(DISTINCT fingerprint) FROM idem_ledger")
            .fetch_one(&world.outside).await.expect("a count");
        assert_eq!(fingerprints, 2, "two payloads have two fingerprints");
    }

    async fn b25_a_declined_and_an_expired_outcome_compare_the_fingerprint_first() {
        let world = World::new().await;
        let declined = Refund::new("declined", 10);
        let decline = async |_: &mut Connection| Err::<Receipt, _>(EffectError::final_("no"));
        assert_eq!(world.idem.transaction(&declined, decline).await.unwrap_err().kind(), ErrorKind::Declined);
        assert_mismatch("declined", &world.idem.transaction(&Refund::new("declined", 11), never).await.unwrap_err());

        let expired = Refund::new("expired", 10);
        let run = world.idem.call(&expired).retention(Duration::from_millis(1));
        run.transaction(async |tx: &mut Connection| pay(tx, "expired").await).await.expect("it runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let probing = world.apart_with(Settings::default().probe(true)).await;
        for (name, idem) in [("claim", &world.idem), ("probe", &probing)] {
            assert_mismatch(name, &idem.transaction(&Refund::new("expired", 11), never).await.unwrap_err());
            let error = idem.transaction(&expired, never).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExecuted, "{name}");
            assert!(error.entry().is_some());
        }
    }

    async fn b25_a_duplicate_that_waited_for_another_payload_is_told_so() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let Begun::Execute(mut guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
            panic!("nothing is recorded")
        };
        pay(guard.connection(), "K").await.expect("the effect");
        // The process that runs it knows what it is running for: whoever asks for something else need not wait.
        let other = Refund::new("K", 11);
        assert_mismatch("same process", &world.idem.transaction(&other, never).await.unwrap_err());
        let patient = world.idem.call(&other).wait(Duration::from_secs(20));
        assert_mismatch("same process, wait", &patient.transaction(never).await.unwrap_err());
        assert_mismatch("begin", &world.idem.call(&other).begin::<Receipt>().await.err().expect("a mismatch"));
        // Another one has only the database, which cannot tell before the claim is committed: it may yet come to nothing.
        let apart = world.unaware().await;
        let waits = tokio::spawn(async move {
            apart.call(&other).wait(Duration::from_secs(20)).transaction(never).await
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waits.is_finished(), "it waits for the claim");
        guard.complete(receipt("K")).await.expect("committed");
        assert_mismatch("another process", &waits.await.expect("no panic").unwrap_err());
        assert_eq!(world.idem.drain(Duration::from_secs(10)).await, 0);
        assert_eq!(world.effects().await, ["K"]);
        assert_eq!(world.ledger().await, ["executed", "refused mismatch"], "one refusal, however often it is repeated");
    }

    async fn b25_an_effect_that_came_to_nothing_leaves_the_key_to_another_payload() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let Begun::Execute(guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
            panic!("nothing is recorded")
        };
        assert_mismatch("running", &world.idem.transaction(&Refund::new("K", 11), never).await.unwrap_err());
        guard.roll_back().await.expect("rolled back");
        assert_eq!(world.idem.drain(Duration::from_secs(10)).await, 0);
        world.idem.transaction(&Refund::new("K", 11), async |tx: &mut Connection| pay(tx, "K").await).await
            .expect("nothing is bound to the key");
        assert_eq!(world.effects().await, ["K"]);
    }

    async fn b25_the_loser_of_an_insert_race_with_another_payload_is_told_so() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let Begun::Execute(mut guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
            panic!("nothing is recorded")
        };
        pay(guard.connection(), "K").await.expect("the effect");
        // It knows nothing of the claim but what the database does.
        let apart = world.unaware().await;
        let race = tokio::spawn(async move { apart.transaction(&Refund::new("K", 11), never).await });
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(!race.is_finished(), "it waits for the claim in the database");
        guard.complete(receipt("K")).await.expect("committed");
        assert_mismatch("race", &race.await.expect("no panic").unwrap_err());
        assert_eq!(world.effects().await, ["K"]);
        assert_eq!(world.ledger().await, ["executed", "refused mismatch"]);
    }

    async fn b33_a_claim_that_meets_a_running_one_wins_or_replays_when_that_has_ended() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        for commits in [false, true] {
            let Begun::Execute(mut guard) = world.idem.call(&refund).begin::<Receipt>().await.expect("a claim") else {
                panic!("nothing is recorded")
            };
            let apart = world.unaware().await;
            let again = refund.clone();
            let race = tokio::spawn(async move {
                let done = apart.call(&again).begin::<Receipt>().await?;
                Ok::<_, Error>(match done {
                    Begun::Execute(guard) => {
                        guard.roll_back().await?;
                        false
                    }
                    Begun::Replayed(_) => true,
                })
            });
            tokio::time::sleep(Duration::from_millis(50)).await;
            if commits {
                pay(guard.connection(), "K").await.expect("the effect");
                guard.complete(receipt("K")).await.expect("committed");
            } else {
                guard.roll_back().await.expect("rolled back");
            }
            let replayed = race.await.expect("no panic").expect("an answer, and never `not found`");
            assert_eq!(replayed, commits);
        }
        assert_eq!(world.effects().await, ["K"]);
    }
}

#[track_caller]
fn assert_mismatch(path: &str, error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{path}: {error:?}");
    assert!(
        !error.is_retryable() && error.outcome().is_none(),
        "{path}: nothing stored is told"
    );
}

mod isolation {
    use super::*;
    use crate::engine::postgres::*;

    #[tokio::test]
    async fn b31_a_claim_that_a_fixed_snapshot_cannot_see_is_retryable_and_no_duplicate() {
        for level in [
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "BEGIN ISOLATION LEVEL REPEATABLE READ",
        ] {
            let world = World::new().await;
            let refund = Refund::new("K", 10);
            let mut tx = world.outside.begin_with(level).await.expect("a transaction");
            sqlx::query("SELECT count(*) FROM refunds")
                .execute(&mut *tx)
                .await
                .expect("a snapshot");
            world
                .idem
                .transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await)
                .await
                .expect("it runs");

            // Even with another payload: what the snapshot does not show decides nothing.
            for refund in [&refund, &Refund::new("K", 11)] {
                let error = world.idem.call(refund).join(&mut tx, never).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Store, "{level}: {}", text(&error));
                assert_eq!(error.retry(), Retry::Transaction, "{level}");
                assert!(error.is_retryable());
            }
            put(&mut tx, "row after")
                .await
                .expect("the savepoint kept the transaction usable");
            tx.rollback().await.expect("rolled back");

            let mut tx = world.outside.begin_with(level).await.expect("a transaction");
            put(&mut tx, "before").await.expect("a row");
            assert!(
                world
                    .idem
                    .call(&refund)
                    .join(&mut tx, never)
                    .await
                    .expect("run again")
                    .is_replayed(),
                "{level}"
            );
            put(&mut tx, "row after").await.expect("a row");
            tx.commit().await.expect("committed");
            assert_eq!(world.effects().await, ["K", "before", "row after"], "{level}");
        }
    }

    #[tokio::test]
    async fn b37_a_swallowed_error_is_misuse_and_commits_nothing() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let swallow = async |tx: &mut Connection| {
            put(tx, "K").await?;
            let _ = send(tx, "UPDATE no_such_table SET x = 1").await;
            Ok(receipt("K"))
        };
        let error = world.idem.transaction(&refund, swallow).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{}", text(&error));
        assert!(error.to_string().contains("ignored an error"), "{error}");
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;

        let mut tx = begin(&world.pool).await;
        put(&mut tx, "before").await.expect("a row");
        let error = world.idem.call(&refund).join(&mut tx, swallow).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{}", text(&error));
        put(&mut tx, "row after")
            .await
            .expect("the caller's transaction is usable");
        tx.commit().await.expect("committed");
        assert_eq!(world.effects().await, ["before", "row after"]);

        // Under a savepoint the same error may be ignored.
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| {
            let mut part = tx.begin().await?;
            let _ = send(&mut part, "UPDATE no_such_table SET x = 1").await;
            part.rollback().await?;
            pay(tx, "K").await
        });
        assert!(!done.await.expect("committed").is_replayed());
        assert_eq!(world.effects().await, ["K", "before", "row after"]);
    }
}

mod file {
    use super::*;
    use crate::engine::sqlite::*;

    #[tokio::test]
    async fn b31_a_claim_on_an_outdated_snapshot_is_retryable_and_no_duplicate() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        // Deferred: it has read, and not written yet.
        let mut tx = world.outside.begin().await.expect("a transaction");
        sqlx::query("SELECT count(*) FROM refunds")
            .execute(&mut *tx)
            .await
            .expect("a snapshot");
        world
            .idem
            .transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await)
            .await
            .expect("it runs");
        let error = world.idem.call(&refund).join(&mut tx, never).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Store, Retry::Transaction),
            "{}",
            text(&error)
        );
        tx.rollback().await.expect("rolled back");
        let mut tx = world.outside.begin().await.expect("a transaction");
        assert!(
            world
                .idem
                .call(&refund)
                .join(&mut tx, never)
                .await
                .expect("run again")
                .is_replayed()
        );
        tx.commit().await.expect("committed");
    }

    /// A statement that fails on SQLite undoes itself and nothing else. An effect that goes on after it and returns `Ok`
    /// is committed as it stands: what it did is what it says it did.
    #[tokio::test]
    async fn b37_after_a_swallowed_error_sqlite_commits_what_the_effect_did() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| {
            put(tx, "K").await?;
            let _ = send(tx, "UPDATE no_such_table SET x = 1").await;
            Ok(receipt("K"))
        });
        assert!(!done.await.expect("committed").is_replayed());
        assert_eq!(world.effects().await, ["K"]);
        assert_eq!(world.ledger().await, ["executed"]);
    }

    /// Some errors make SQLite roll the whole transaction back by itself; `OR ROLLBACK` asks for it.
    #[tokio::test]
    async fn b37_a_swallowed_error_that_rolled_the_transaction_back_is_misuse() {
        let world = World::new().await;
        send(
            &mut world.outside.acquire().await.expect("a connection"),
            "CREATE TABLE one (x PRIMARY KEY); INSERT INTO one VALUES (1)",
        )
        .await
        .expect("a table");
        let refund = Refund::new("K", 10);
        let swallow = async |tx: &mut Connection| {
            put(tx, "lost").await?;
            let _ = send(tx, "INSERT OR ROLLBACK INTO one VALUES (1)").await;
            Ok(receipt("K"))
        };
        let error = world.idem.transaction(&refund, swallow).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{}", text(&error));
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
        let done = world
            .idem
            .transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await)
            .await;
        assert!(!done.expect("nothing was recorded, so it runs").is_replayed());
    }
}
