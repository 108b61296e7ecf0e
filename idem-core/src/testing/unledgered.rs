//! Calls that keep their record alone.

use super::expiry::{retention, wait_for_expiry};
use super::leased::RERUN;
use super::{Effect, Intent, Kit, Way, kind};
use crate::error::{Error, ErrorKind};
use crate::execute::{self, Done, EffectError, Resolution};
use crate::record::Recovery;
use crate::state::Status;
use crate::store::Store;

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case("a call without ledger runs once and replays", runs_once(kit))
        .await;
    kit.case(
        "without ledger an effect whose outcome has expired may run again",
        an_expired_effect_runs_again(kit),
    )
    .await;
    kit.case("a final error without ledger replays", a_final_error_replays(kit))
        .await;
    kit.case(
        "a call without ledger looks into the ledger",
        the_ledger_is_looked_into(kit),
    )
    .await;
    kit.case(
        "an effect without ledger is undone, and done anew when it is reopened",
        an_effect_is_undone(kit),
    )
    .await;
    kit.case("a place needs the ledger", a_place_needs_the_ledger(kit))
        .await;
}

pub(super) async fn run_under_leases<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case(
        "a lost attempt without ledger is taken over",
        a_lost_attempt_is_taken_over(kit),
    )
    .await;
    kit.case(
        "an unknown outcome without ledger is resolved",
        an_unknown_outcome_is_resolved(kit),
    )
    .await;
}

async fn call<S: Store + Clone, W: Way<S>>(
    kit: &Kit<S, W>,
    intent: &Intent,
    effect: Effect,
) -> Result<Done<u32>, Error> {
    kit.finish(kit.call(intent).without_ledger(), effect).await
}

/// What a reader of the ledger could find of the key.
async fn assert_no_entry<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent) {
    let origin = kit
        .store
        .origin(&kit.key(intent))
        .await
        .expect("the ledger can be read");
    assert!(origin.is_none(), "an entry was written: {origin:?}");
    assert!(kit.view(intent).await.ledger.own.is_none());
}

async fn runs_once<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered");
    for expected in [Done::Executed(7), Done::Replayed(7), Done::Replayed(7)] {
        let done = call(kit, &intent, Effect::Succeeds).await.expect("it runs or replays");
        assert_eq!(done, expected);
    }
    let changed = intent.amount(2);
    for _ in 0..2 {
        assert_eq!(kind(call(kit, &changed, Effect::Succeeds).await), ErrorKind::Mismatch);
    }
    // Who asks with the ledger gets the same record.
    let done = kit.run(&intent, Effect::Succeeds).await.expect("it is recorded");
    assert_eq!(done, Done::Replayed(7));
    assert_eq!(kit.ran(), 1);
    assert_no_entry(kit, &intent).await;
}

async fn an_expired_effect_runs_again<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered-expired");
    for (amount, ran) in [(1, 1), (2, 2)] {
        let intent = intent.amount(amount);
        let call = kit.call(&intent).without_ledger().retention(retention());
        let done = kit.finish(call, Effect::Succeeds).await;
        assert_eq!(done.expect("nothing is in the way"), Done::Executed(7));
        let view = kit.view(&intent).await;
        assert_eq!(view.record.expect("it is recorded").status, Status::Completed);
        wait_for_expiry().await;
        let view = kit.view(&intent).await;
        assert!(view.record.is_none_or(|record| record.is_expired(view.now)));
        assert_eq!(kit.calls.so_far(), ran);
    }
    assert_no_entry(kit, &intent).await;
}

async fn a_final_error_replays<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered-final");
    assert_eq!(kind(call(kit, &intent, Effect::Fails).await), ErrorKind::Effect);
    for _ in 0..2 {
        assert_eq!(kind(call(kit, &intent, Effect::Declines).await), ErrorKind::Declined);
    }
    assert_eq!(kit.ran(), 2);
    assert_no_entry(kit, &intent).await;
}

async fn the_ledger_is_looked_into<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    let intent = Intent::new("ledgered");
    kit.finish(kit.call(&intent).retention(retention()), Effect::Succeeds)
        .await
        .expect("it runs")
        .into_inner();
    wait_for_expiry().await;
    assert_eq!(
        kind(call(kit, &intent, Effect::Succeeds).await),
        ErrorKind::AlreadyExecuted
    );
    assert_eq!(kit.ran(), 1);
}

async fn an_effect_is_undone<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered-undone");
    let key = kit.key(&intent);
    let by_hand = || kit.idem.by_hand("ada", "asked for");
    call(kit, &intent, Effect::Succeeds)
        .await
        .expect("it runs")
        .into_inner();
    by_hand().revoke(&key, 1).await.expect("it happened");
    assert_eq!(kind(call(kit, &intent, Effect::Succeeds).await), ErrorKind::Revoked);
    by_hand().reopen(&key, 1).await.expect("it is revoked");
    assert_no_entry(kit, &intent).await;
    for expected in [Done::Executed(7), Done::Replayed(7)] {
        let done = call(kit, &intent, Effect::Succeeds).await;
        assert_eq!(done.expect("it runs or replays"), expected);
    }
    assert_eq!(kit.ran(), 2);
}

async fn a_place_needs_the_ledger<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered-place").once_per("p");
    assert_eq!(kind(call(kit, &intent, Effect::Succeeds).await), ErrorKind::Misuse);
    assert_eq!(kit.ran(), 0);
    assert!(kit.view(&intent).await.record.is_none());
}

async fn a_lost_attempt_is_taken_over<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("unledgered-lost");
    let attempt = async |fails: bool| {
        let calls = kit.calls.clone();
        let effect = async move |effect: execute::Effect| {
            calls.add();
            match fails {
                true => Err(EffectError::from(super::Failed)),
                false => Ok(effect.attempt()),
            }
        };
        kit.call(&intent).without_ledger().run(RERUN, effect).await
    };
    assert_eq!(kind(attempt(true).await), ErrorKind::Effect);
    assert_eq!(attempt(false).await.expect("it takes over"), Done::Executed(2));
    assert_eq!(attempt(false).await.expect("it is recorded"), Done::Replayed(2));
    assert_eq!(kit.ran(), 2);
    assert_no_entry(kit, &intent).await;
}

async fn an_unknown_outcome_is_resolved<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for happened in [true, false] {
        let intent = Intent::new("unledgered-unknown");
        let call = kit.call(&intent).without_ledger();
        let failed = call
            .run(Recovery::Hold, async |_: execute::Effect| {
                Err::<u32, _>(EffectError::from(super::Failed))
            })
            .await;
        assert_eq!(kind(failed), ErrorKind::OutcomeUnknown);
        assert_no_entry(kit, &intent).await;
        let resolution = match happened {
            true => Resolution::Happened(9),
            false => Resolution::DidNotHappen,
        };
        kit.resolve(&intent, resolution).await.expect("its record stands");
        let done = self::call(kit, &intent, Effect::Succeeds)
            .await
            .expect("it is resolved");
        assert_eq!(done, if happened { Done::Replayed(9) } else { Done::Executed(7) });
        assert_eq!(kit.ran(), usize::from(!happened));
    }
}
