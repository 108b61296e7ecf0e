use super::{RERUN, says, tell};
use crate::error::{Error, ErrorKind};
use crate::execute::{Begun, Done, EffectError, Idem, Leased, Resolution};
use crate::record::{OutcomeKind, Recovery};
use crate::store::{MemoryConnection, MemoryStore};
use crate::testing::Intent;

/// Has the effect in every way that there is, under keys named after the way.
pub(super) async fn every_way(idem: &Idem<MemoryStore>, intent: &Intent) -> Vec<(Intent, OutcomeKind)> {
    let mut ways = Vec::new();
    let mut way = |name: &str, kind| {
        let own = intent.case(name);
        ways.push((own.clone(), kind));
        own
    };

    let own = way("transaction", OutcomeKind::Success);
    tell(idem, &own).await.expect("executed");

    let own = way("guard", OutcomeKind::Success);
    let Begun::Execute(guard) = idem.call(&own).begin().await.expect("claimed") else {
        panic!("it is new");
    };
    guard.complete("told".to_owned()).await.expect("executed");

    let own = way("join", OutcomeKind::Success);
    idem.call(&intent.case("outer"))
        .transaction(async |tx: &mut MemoryConnection| {
            let joined = idem.call(&own).join(tx, says("told")).await;
            joined.map(Done::into_inner).map_err(EffectError::from)
        })
        .await
        .expect("executed");

    let own = way("leased", OutcomeKind::Success);
    let effect = async |_| Ok("told".to_owned());
    idem.run(&own, RERUN, effect).await.expect("executed");

    let own = way("leased guard", OutcomeKind::Success);
    let Leased::Execute(guard) = idem.call(&own).lease(Recovery::Hold).await.expect("claimed") else {
        panic!("it is new");
    };
    guard.complete("told".to_owned()).await.expect("executed");

    let own = way("resolved", OutcomeKind::Success);
    let effect = async |_| Err::<String, _>(EffectError::new("no answer"));
    let error = idem
        .run(&own, Recovery::Hold, effect)
        .await
        .expect_err("nobody knows what happened");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let key = idem.call(&own).key().expect("a key");
    let view = idem.peek(&key).await.expect("it can be read");
    let attempt = view.record.expect("a record").attempt_id();
    idem.by_hand("ada", "looked it up")
        .resolve(&key, attempt, Resolution::Happened("told"))
        .await
        .expect("resolved");

    let declined = |result: Result<Done<String>, Error>| {
        let error = result.expect_err("a final error");
        assert_eq!(error.declined::<String>().as_deref(), Some("told"), "{error:?}");
    };
    let own = way("declined", OutcomeKind::Declined);
    let effect = async |_: &mut MemoryConnection| Err::<String, _>(EffectError::final_("told"));
    declined(idem.transaction(&own, effect).await);

    let own = way("guard declined", OutcomeKind::Declined);
    let Begun::Execute(guard) = idem.call(&own).begin().await.expect("claimed") else {
        panic!("it is new");
    };
    declined(guard.decline("told").await);

    let own = way("join declined", OutcomeKind::Declined);
    idem.call(&intent.case("other outer"))
        .transaction(async |tx: &mut MemoryConnection| {
            declined(idem.call(&own).join(tx, effect).await);
            Ok(())
        })
        .await
        .expect("executed");

    let own = way("leased declined", OutcomeKind::Declined);
    let effect = async |_| Err::<String, _>(EffectError::final_("told"));
    declined(idem.run(&own, RERUN, effect).await);
    ways
}
