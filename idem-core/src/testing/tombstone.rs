//! What is told of an effect after its retention, while its record stands.

use std::time::Duration;

use super::expiry::{retention, wait_for_expiry};
use super::leased::HOUR;
use super::{Effect, Intent, Kit, Way, kind};
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, Settings};
use crate::store::Store;

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case("a tombstone tells that the effect was executed", a_tombstone_tells(kit))
        .await;
    kit.case("a tombstone ends", a_tombstone_ends(kit)).await;
    kit.case("a final error has no tombstone", a_final_error_has_none(kit))
        .await;
}

async fn call<S: Store + Clone, W: Way<S>>(
    kit: &Kit<S, W>,
    intent: &Intent,
    (retention, tombstone): (Duration, Duration),
    effect: Effect,
) -> Result<Done<u32>, Error> {
    let call = kit.call(intent).without_ledger();
    kit.finish(call.retention(retention).tombstone(tombstone), effect).await
}

async fn a_tombstone_tells<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("tombstone");
    for expected in [Done::Executed(7), Done::Replayed(7)] {
        let done = call(kit, &intent, (HOUR, HOUR), Effect::Succeeds).await;
        assert_eq!(done.expect("it runs or replays"), expected);
    }
    wait_for_expiry().await;
    let asked = (retention(), HOUR);
    let error = call(kit, &intent, asked, Effect::Succeeds)
        .await
        .expect_err("it is not replayed any more");
    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted);
    let entry = error.entry().expect("the effect is named");
    assert_eq!(entry.key, kit.key(&intent).as_str());
    assert_eq!(
        (entry.generation, entry.action.as_str(), entry.step_id.as_deref()),
        (1, "kit.act", Some("kit"))
    );
    let completed_at = kit.view(&intent).await.record.and_then(|record| record.completed_at);
    assert_eq!(Some(entry.recorded_at), completed_at);
    let changed = intent.amount(2);
    assert_eq!(
        kind(call(kit, &changed, asked, Effect::Succeeds).await),
        ErrorKind::Mismatch
    );
    // A look before the claim says the same, and whoever asks for more still gets it.
    let probing = kit.with(Settings::default().probe(true));
    assert_eq!(
        kind(call(&probing, &intent, asked, Effect::Succeeds).await),
        ErrorKind::AlreadyExecuted
    );
    assert_eq!(
        kit.run(&intent, Effect::Succeeds).await.expect("it is kept"),
        Done::Replayed(7)
    );
    assert_eq!(kit.ran(), 1);
}

async fn a_tombstone_ends<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("tombstone-ends");
    for (amount, tombstone) in [(1, retention()), (2, HOUR)] {
        let done = call(kit, &intent.amount(amount), (retention(), tombstone), Effect::Succeeds).await;
        assert_eq!(done.expect("nothing is in the way"), Done::Executed(7));
        wait_for_expiry().await;
        wait_for_expiry().await;
    }
    // The second one stands.
    let asked = call(kit, &intent.amount(2), (retention(), HOUR), Effect::Succeeds).await;
    assert_eq!(kind(asked), ErrorKind::AlreadyExecuted);
    assert_eq!(kit.ran(), 2);
}

async fn a_final_error_has_none<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("tombstone-final");
    let spans = (retention(), HOUR);
    assert_eq!(
        kind(call(kit, &intent, spans, Effect::Declines).await),
        ErrorKind::Declined
    );
    wait_for_expiry().await;
    let done = call(kit, &intent.amount(2), spans, Effect::Succeeds).await;
    assert_eq!(done.expect("nothing has happened"), Done::Executed(7));
    assert_eq!(kit.ran(), 2);
}
