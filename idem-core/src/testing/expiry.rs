//! Outcomes that are not kept any more.

use std::time::Duration;

use super::{Effect, Intent, Kit, Way, kind};
use crate::error::ErrorKind;
use crate::execute::Done;
use crate::store::Store;

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case(
        "an effect whose outcome has expired is not run again",
        an_expired_effect_is_not_run_again(kit),
    )
    .await;
    kit.case(
        "a final error whose record has expired is forgotten",
        an_expired_final_error_is_forgotten(kit),
    )
    .await;
}

/// Long enough for every storage's clock to tell, short enough to wait for.
const RETENTION: Duration = Duration::from_millis(5);

pub(super) async fn wait_for_expiry() {
    tokio::time::sleep(4 * RETENTION).await;
}

pub(super) fn retention() -> Duration {
    RETENTION
}

async fn an_expired_effect_is_not_run_again<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    let intent = Intent::new("expired");
    kit.finish(kit.call(&intent).retention(RETENTION), Effect::Succeeds)
        .await
        .expect("it runs")
        .into_inner();
    wait_for_expiry().await;
    let view = kit.view(&intent).await;
    assert!(view.record.is_none_or(|record| record.is_expired(view.now)));
    let error = kit.run(&intent, Effect::Succeeds).await.expect_err("it was executed");
    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted);
    assert_eq!(error.entry().expect("its own entry").step_id.as_deref(), Some("kit"));
    assert_eq!(
        kind(kit.run(&intent.amount(2), Effect::Succeeds).await),
        ErrorKind::Mismatch
    );
    assert_eq!(kit.ran(), 1);
}

async fn an_expired_final_error_is_forgotten<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("expired-final");
    let call = kit.call(&intent).retention(RETENTION);
    assert_eq!(kind(kit.finish(call, Effect::Declines).await), ErrorKind::Declined);
    wait_for_expiry().await;
    // Nothing has happened, so nothing is in the way, not even of another payload.
    let done = kit.run(&intent.amount(2), Effect::Succeeds).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    assert_eq!(kit.ran(), 2);
}
