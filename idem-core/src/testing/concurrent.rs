//! Many callers at a time.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::{Effect, Intent, Kit};
use crate::error::ErrorKind;
use crate::execute::{Done, Idem, Settings};
use crate::store::TransactionalStore;

pub(super) async fn run<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    kit.case("of many claimants one wins", one_wins(kit, false)).await;
    kit.case(
        "of many claimants without a shared registry one wins",
        one_wins(kit, true),
    )
    .await;
    kit.case(
        "replays at the same time all replay",
        replays_do_not_hinder_each_other(kit),
    )
    .await;
    kit.case("a duplicate waits for the outcome", a_duplicate_waits(kit))
        .await;
    kit.case(
        "a duplicate that does not wait is told in-flight",
        in_flight_is_told(kit),
    )
    .await;
}

const CLAIMANTS: usize = 32;

/// Every caller gets the one result. With `apart`, the claimants do not know of each other, as if
/// each were a process of its own.
async fn one_wins<S: TransactionalStore + Clone>(kit: &Kit<S>, apart: bool) {
    let intent = Intent::new("race");
    let ran = Rc::new(Cell::new(0));
    let settings = Settings::default().wait(Duration::from_secs(30));
    let shared = Idem::with_settings(kit.store.clone(), settings.clone()).expect("settings agree");
    let local = LocalSet::new();
    let tasks: Vec<_> = (0..CLAIMANTS)
        .map(|_| {
            let idem = if apart {
                Idem::with_settings(kit.store.clone(), settings.clone()).expect("settings agree")
            } else {
                shared.clone()
            };
            let (intent, ran) = (intent.clone(), Rc::clone(&ran));
            local.spawn_local(async move {
                let effect = async |_: &mut S::Connection| {
                    tokio::task::yield_now().await;
                    ran.set(ran.get() + 1);
                    Ok(ran.get())
                };
                idem.call(&intent).transaction(effect).await
            })
        })
        .collect();
    local.await;
    let mut executed = 0;
    for task in tasks {
        match task
            .await
            .expect("no claimant panics")
            .expect("every claimant gets the result")
        {
            Done::Executed(value) => {
                executed += 1;
                assert_eq!(value, 1);
            }
            Done::Replayed(value) => assert_eq!(value, 1),
        }
    }
    assert_eq!((executed, ran.get()), (1, 1), "{CLAIMANTS} claimants, one effect");
}

/// Nobody is told that a key is in flight when it is not: not even by another replay.
async fn replays_do_not_hinder_each_other<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("replays");
    kit.run(&intent, Effect::Succeeds).await.expect("the first call runs");
    let local = LocalSet::new();
    let tasks: Vec<_> = (0..CLAIMANTS)
        .map(|_| {
            let (idem, intent) = (kit.idem.clone(), intent.clone());
            local.spawn_local(async move {
                idem.call(&intent)
                    .transaction(async |_: &mut S::Connection| Ok(0))
                    .await
            })
        })
        .collect();
    local.await;
    for task in tasks {
        assert_eq!(
            task.await.expect("no caller panics").expect("it is recorded"),
            Done::Replayed(7)
        );
    }
}

async fn a_duplicate_waits<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("waits");
    let first = kit.call(&intent).transaction(async |_: &mut S::Connection| {
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok(7)
    });
    let second = kit.finish(kit.call(&intent).wait(Duration::from_secs(10)), Effect::Succeeds);
    let (first, second) = both(first, second).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    assert_eq!(second.expect("it gets the outcome"), Done::Replayed(7));
    assert_eq!(kit.ran(), 0);
}

async fn in_flight_is_told<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("told");
    let first = kit.call(&intent).transaction(async |_: &mut S::Connection| {
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok(7)
    });
    let (first, second) = both(first, kit.run(&intent, Effect::Succeeds)).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    let error = second.expect_err("the first is running");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    assert!(error.is_retryable() && error.retry_after().is_some_and(|after| !after.is_zero()));
    assert_eq!(kit.ran(), 0);
}

/// Runs two futures in one task, the first ahead.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(move |context| {
        if left.is_none()
            && let std::task::Poll::Ready(value) = a.as_mut().poll(context)
        {
            left = Some(value);
        }
        if right.is_none()
            && let std::task::Poll::Ready(value) = b.as_mut().poll(context)
        {
            right = Some(value);
        }
        match (left.take(), right.take()) {
            (Some(l), Some(r)) => std::task::Poll::Ready((l, r)),
            (l, r) => {
                (left, right) = (l, r);
                std::task::Poll::Pending
            }
        }
    })
    .await
}
