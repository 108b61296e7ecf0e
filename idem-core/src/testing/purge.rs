//! Removing what has expired.

use std::time::Duration;

use super::expiry::{retention, wait_for_expiry};
use super::leased::{Answer, Downstream, run_one};
use super::{Effect, Intent, Kit, Way, kind};
use crate::error::ErrorKind;
use crate::execute::Leased;
use crate::record::Recovery;
use crate::state::Status;
use crate::store::Store;

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case("a purge removes what has expired and nothing else", a_purge(kit))
        .await;
    kit.case("purges at once share the work", purges_at_once(kit)).await;
}

async fn a_purge<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    assert_eq!(
        kit.idem.purge_expired(0).await.expect_err("no batch").kind(),
        ErrorKind::Misuse
    );
    let downstream = Downstream::default();
    let short = |intent| kit.call(intent).retention(retention());
    let expired: Vec<_> = (0..5).map(|_| Intent::new("expired")).collect();
    for (number, intent) in expired.iter().enumerate() {
        let effect = if number % 2 == 0 {
            Effect::Succeeds
        } else {
            Effect::Declines
        };
        let _ = kit.finish(short(intent), effect).await;
    }
    let kept = Intent::new("kept");
    kit.run(&kept, Effect::Succeeds).await.expect("it runs");
    // Old, and still open: the retention is that of an outcome, which they do not have.
    let unknown = Intent::new("unknown");
    let Leased::Execute(guard) = short(&unknown).lease::<u32>(Recovery::Hold).await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    let _ = guard.fail(crate::EffectError::from(std::fmt::Error)).await;
    let flying = Intent::new("flying");
    let Leased::Execute(flight) = short(&flying).lease::<u32>(Recovery::Hold).await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    wait_for_expiry().await;
    let one_batch = kit.store.purge(2).await.expect("a batch");
    assert_eq!(one_batch, 2, "no more than a batch, and no less where more has expired");
    assert!(kit.idem.purge_expired(2).await.expect("batches of two") >= 3);
    for intent in &expired {
        assert!(kit.view(intent).await.record.is_none());
    }
    let status = async |intent| kit.view(intent).await.record.map(|record| record.status);
    assert_eq!(status(&kept).await, Some(Status::Completed));
    assert_eq!(status(&unknown).await, Some(Status::Unknown));
    assert_eq!(status(&flying).await, Some(Status::InFlight));
    flight.complete(1).await.expect("its claim stands");
    let again = run_one(kit, &unknown, Recovery::Hold, &downstream, Answer::Value(1)).await;
    assert_eq!(kind(again), ErrorKind::OutcomeUnknown);
    if kit.store.capabilities().ledger {
        let again = kit.run(&expired[0], Effect::Succeeds).await;
        assert_eq!(kind(again), ErrorKind::AlreadyExecuted, "the ledger remembers");
    }
    kit.ran();
}

async fn purges_at_once<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intents: Vec<_> = (0..40).map(|_| Intent::new("many")).collect();
    for intent in &intents {
        let call = kit.call(intent).retention(retention());
        kit.finish(call, Effect::Succeeds).await.expect("it runs");
    }
    wait_for_expiry().await;
    let purges: Vec<_> = (0..4)
        .map(|_| {
            let idem = kit.idem.clone();
            tokio::spawn(async move { idem.purge_expired(3).await })
        })
        .collect();
    let task = tokio::spawn(kit.idem.clone().purge_task(Duration::from_millis(1), 3));
    for purge in purges {
        purge.await.expect("no panic").expect("a purge");
    }
    // Each leaves to the others what they hold, so the last of them may end before the first.
    for intent in &intents {
        while kit.view(intent).await.record.is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    task.abort();
    kit.ran();
}
