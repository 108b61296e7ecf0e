//! Many callers at a time.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::{Effect, Intent, Kit, Way};
use crate::error::ErrorKind;
use crate::execute::{Done, Settings};
use crate::store::Store;

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
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
async fn one_wins<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, apart: bool) {
    let intent = Intent::new("race");
    let settings = Settings::default().wait(Duration::from_secs(30));
    let shared = Rc::new(kit.with(settings.clone()));
    let local = LocalSet::new();
    let tasks: Vec<_> = (0..CLAIMANTS)
        .map(|_| {
            let kit = if apart {
                Rc::new(kit.with(settings.clone()))
            } else {
                Rc::clone(&shared)
            };
            let intent = intent.clone();
            local.spawn_local(async move { kit.run(&intent, Effect::Succeeds).await })
        })
        .collect();
    local.await;
    let mut executed = 0;
    for task in tasks {
        let done = task.await.expect("no claimant panics");
        match done.expect("every claimant gets the result") {
            Done::Executed(value) => {
                executed += 1;
                assert_eq!(value, 7);
            }
            Done::Replayed(value) => assert_eq!(value, 7),
        }
    }
    assert_eq!((executed, kit.ran()), (1, 1), "{CLAIMANTS} claimants, one effect");
}

/// Nobody is told that a key is in flight when it is not: not even by another replay.
async fn replays_do_not_hinder_each_other<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("replays");
    kit.run(&intent, Effect::Succeeds).await.expect("the first call runs");
    let shared = Rc::new(kit.with(Settings::default()));
    let local = LocalSet::new();
    let tasks: Vec<_> = (0..CLAIMANTS)
        .map(|_| {
            let (kit, intent) = (Rc::clone(&shared), intent.clone());
            local.spawn_local(async move { kit.run(&intent, Effect::Succeeds).await })
        })
        .collect();
    local.await;
    for task in tasks {
        assert_eq!(
            task.await.expect("no caller panics").expect("it is recorded"),
            Done::Replayed(7)
        );
    }
    assert_eq!(kit.ran(), 1);
}

async fn a_duplicate_waits<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("waits");
    let first = kit.run_slowly(&intent);
    let second = kit.finish(kit.call(&intent).wait(Duration::from_secs(10)), Effect::Succeeds);
    let (first, second) = both(first, second).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    assert_eq!(second.expect("it gets the outcome"), Done::Replayed(7));
    assert_eq!(kit.ran(), 1);
}

async fn in_flight_is_told<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("told");
    let (first, second) = both(kit.run_slowly(&intent), kit.run(&intent, Effect::Succeeds)).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    let error = second.expect_err("the first is running");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    assert!(error.is_retryable() && error.retry_after().is_some_and(|after| !after.is_zero()));
    assert_eq!(kit.ran(), 1);
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
