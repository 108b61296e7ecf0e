//! A `join` that is dropped at any of its steps: what the caller's transaction holds stands or falls as a whole, and no key
//! gets two effects.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use crate::engine::on_both_databases;
use crate::support::Refund;

/// More than a join has steps.
const MOST_POLLS: usize = 40;

/// Polls a future so often, letting everything else go on in between, and drops it; whether it had ended.
async fn polled<F: Future>(future: F, polls: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        let ended = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if ended {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    false
}

on_both_databases! {
    async fn b32_the_callers_transaction_stands_or_falls_as_a_whole() {
        let world = World::new().await;
        for polls in 0..MOST_POLLS {
            let (case, before, after) = (format!("K{polls}"), format!("before {polls}"), format!("after {polls}"));
            let refund = Refund::new(&case, 10);
            let mut tx = begin(&world.pool).await;
            put(&mut tx, &before).await.expect("a row before");
            let ended = polled(world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| pay(tx, &case).await), polls).await;
            put(&mut tx, &after).await.expect("a row after");
            let committed = tx.commit().await.is_ok();
            let rows = world.effects().await;
            let has = |row: &str| rows.iter().any(|other| other == row);
            assert_eq!((has(&before), has(&after)), (committed, committed), "{polls} polls");
            assert!(committed || !has(&case), "{polls} polls");
            assert!(committed || !ended, "{polls} polls: a join that ended can be committed");
            world.assert_connection_is_clean().await;

            // Whatever became of it, the next call leaves exactly one effect.
            world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, &case).await).await.expect("it runs or replays");
            assert_eq!(world.effects().await.iter().filter(|row| **row == case).count(), 1, "{polls} polls");
        }
    }

    async fn b32_a_join_given_up_in_its_effect_cannot_be_committed() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let started = std::cell::Cell::new(false);
        let mut tx = begin(&world.pool).await;
        put(&mut tx, "before").await.expect("a row before");
        {
            let join = world.idem.call(&refund).join(&mut tx, async |tx: &mut Connection| {
                put(tx, "K").await?;
                started.set(true);
                std::future::pending::<()>().await;
                Ok(receipt("K"))
            });
            let mut join = pin!(join);
            while !started.get() {
                std::future::poll_fn(|context| Poll::Ready(join.as_mut().poll(context).is_ready())).await;
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
        tx.commit().await.expect_err("the claim has no outcome");
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await;
        assert!(!done.expect("it runs").is_replayed());
    }

    async fn b32_an_effect_that_gives_up_a_join_has_one_effect_or_none() {
        let world = World::new().await;
        for polls in 0..MOST_POLLS {
            let (outer, inner) = (Refund::new(&format!("outer {polls}"), 10), Refund::new(&format!("inner {polls}"), 10));
            for _ in 0..2 {
                let idem = &world.idem;
                let effect = async |tx: &mut Connection| {
                    let join = idem.call(&inner).join(tx, async |tx: &mut Connection| pay(tx, &inner.case_id).await);
                    polled(join, polls).await;
                    pay(tx, &outer.case_id).await
                };
                let _ = idem.transaction(&outer, effect).await;
                world.assert_connection_is_clean().await;
            }
            for refund in [&outer, &inner] {
                let case = &refund.case_id;
                world.idem.transaction(refund, async |tx: &mut Connection| pay(tx, case).await).await.expect("it runs or replays");
                let rows = world.effects().await.iter().filter(|row| *row == case).count();
                assert_eq!(rows, 1, "{case}");
            }
        }
    }

    async fn an_effect_that_leaks_a_nested_transaction_commits_nothing() {
        let world = World::new().await;
        let refund = Refund::new("K", 10);
        let leaks = async |tx: &mut Connection| {
            std::mem::forget(sqlx::Connection::begin(&mut *tx).await?);
            pay(tx, "K").await
        };
        let error = world.idem.transaction(&refund, leaks).await.unwrap_err();
        assert!(error.to_string().contains("left a nested transaction open"), "{}", text(&error));
        world.assert_untouched().await;
        world.assert_connection_is_clean().await;
        let done = world.idem.transaction(&refund, async |tx: &mut Connection| pay(tx, "K").await).await;
        assert!(!done.expect("it runs").is_replayed());
    }
}
