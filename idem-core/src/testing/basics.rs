//! One caller at a time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Effect, Intent, Kit, kind};
use crate::error::ErrorKind;
use crate::execute::{Begun, Done, EffectError, Settings};
use crate::ledger::EntryKind;
use crate::record::OwnerToken;
use crate::state::{Reply, Status};
use crate::store::{Completed, Completion, TransactionalStore};

pub(super) async fn run<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    kit.case(
        "the first call executes, repeats replay",
        first_executes_repeats_replay(kit),
    )
    .await;
    kit.case(
        "another payload under the key is refused",
        another_payload_is_refused(kit),
    )
    .await;
    kit.case("an error leaves nothing behind", an_error_leaves_nothing(kit))
        .await;
    kit.case("a final error is recorded and replayed", a_final_error_is_replayed(kit))
        .await;
    kit.case("a place is taken once", a_place_is_taken_once(kit)).await;
    kit.case(
        "an outcome that cannot be given back is unavailable",
        unavailable_outcomes(kit),
    )
    .await;
    kit.case("a probe answers like a claim", a_probe_answers_like_a_claim(kit))
        .await;
    kit.case(
        "a guard commits in `complete` alone",
        a_guard_commits_in_complete_alone(kit),
    )
    .await;
    kit.case("a stale token changes nothing", a_stale_token_changes_nothing(kit))
        .await;
    kit.case("a nested transaction is misuse", a_nested_transaction_is_misuse(kit))
        .await;
}

async fn first_executes_repeats_replay<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("first");
    assert_eq!(
        kit.run(&intent, Effect::Succeeds).await.expect("the first call runs"),
        Done::Executed(7)
    );
    for _ in 0..3 {
        assert_eq!(
            kit.run(&intent, Effect::Fails)
                .await
                .expect("a repeat gets the outcome"),
            Done::Replayed(7)
        );
    }
    assert_eq!(kit.ran(), 1);
    let view = kit.view(&intent).await;
    let record = view.record.expect("a completed record");
    assert_eq!(
        (record.status, record.attempt, record.generation),
        (Status::Completed, 1, 1)
    );
    assert_eq!(
        (record.step_id.as_deref(), record.run_id.as_deref()),
        (Some("kit"), Some("kit"))
    );
    assert!(record.completed_at.is_some() && record.expires_at.is_some_and(|end| end > view.now));
    if kit.store.capabilities().ledger {
        let own = view.ledger.own.expect("the ledger holds the effect");
        assert_eq!(
            (own.kind, own.entry.generation, own.entry.action.as_str()),
            (EntryKind::Executed, 1, "kit.act")
        );
        assert_eq!(own.fingerprint, record.fingerprint);
    }
}

async fn another_payload_is_refused<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("mismatch");
    kit.run(&intent, Effect::Succeeds).await.expect("the first call runs");
    let before = kit.view(&intent).await.record.expect("a record");
    for _ in 0..2 {
        assert_eq!(
            kind(kit.run(&intent.amount(2), Effect::Succeeds).await),
            ErrorKind::Mismatch
        );
    }
    let after = kit.view(&intent).await.record.expect("a record");
    assert_eq!(
        (before.fingerprint, before.owner),
        (after.fingerprint, after.owner),
        "a mismatch never overwrites"
    );
    assert_eq!(kit.ran(), 1);
}

async fn an_error_leaves_nothing<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("error");
    assert_eq!(kind(kit.run(&intent, Effect::Fails).await), ErrorKind::Effect);
    assert!(
        kit.view(&intent).await.record.is_none(),
        "a failed effect leaves no record"
    );
    // Nothing is bound either: the next attempt may ask for something else.
    assert_eq!(
        kit.run(&intent.amount(2), Effect::Succeeds).await.expect("it runs"),
        Done::Executed(7)
    );
    assert_eq!(kit.ran(), 2);
}

async fn a_final_error_is_replayed<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("final");
    for _ in 0..3 {
        let error = kit.run(&intent, Effect::Declines).await.expect_err("a final error");
        assert_eq!(error.kind(), ErrorKind::Declined);
        assert_eq!(error.declined::<String>().as_deref(), Some("no"));
    }
    assert_eq!(kit.ran(), 1);
    assert_eq!(
        kind(kit.run(&intent.amount(2), Effect::Succeeds).await),
        ErrorKind::Mismatch
    );
    assert!(
        kit.view(&intent).await.ledger.own.is_none(),
        "a declined effect is not an executed one"
    );
}

async fn a_place_is_taken_once<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    if !kit.store.capabilities().ledger {
        assert_eq!(
            kind(kit.run(&Intent::new("place").once_per("p"), Effect::Succeeds).await),
            ErrorKind::Misuse
        );
        return;
    }
    let first = Intent::new("place").once_per("p");
    // Neither an error nor a final error takes the place.
    assert_eq!(
        kind(kit.run(&first.case("failed"), Effect::Fails).await),
        ErrorKind::Effect
    );
    assert_eq!(
        kind(kit.run(&first.case("declined"), Effect::Declines).await),
        ErrorKind::Declined
    );
    kit.run(&first, Effect::Succeeds).await.expect("the place is free");
    kit.ran();
    let error = kit
        .run(&first.case("second"), Effect::Succeeds)
        .await
        .expect_err("the place is taken");
    assert_eq!(error.kind(), ErrorKind::AlreadyExecuted);
    let holder = kit.call(&first).key().expect("a key");
    assert_eq!(error.entry().expect("the holder is named").key, holder.as_str());
    // The key itself is replayed, and other places and tenants are free.
    assert_eq!(
        kit.run(&first, Effect::Succeeds).await.expect("its own key"),
        Done::Replayed(7)
    );
    kit.run(&first.case("other").once_per("q"), Effect::Succeeds)
        .await
        .expect("another place");
    kit.run(&Intent::new("place").once_per("p"), Effect::Succeeds)
        .await
        .expect("another tenant");
    assert_eq!(kit.ran(), 2);
}

#[derive(Debug, Serialize, Deserialize)]
struct Other {
    field: Vec<String>,
}

async fn unavailable_outcomes<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("unreadable");
    kit.run(&intent, Effect::Succeeds).await.expect("the first call runs");
    let result = kit
        .call(&intent)
        .transaction(async |_: &mut S::Connection| Ok(Other { field: Vec::new() }))
        .await;
    assert_eq!(kind(result), ErrorKind::ResultUnavailable);

    let kit = kit.with(Settings::default().max_outcome_bytes(8));
    let intent = Intent::new("large");
    let large = async |_: &mut S::Connection| Ok("far more than eight bytes".to_owned());
    let done = kit
        .call(&intent)
        .transaction(large)
        .await
        .expect("the first caller gets it");
    assert_eq!(done, Done::Executed("far more than eight bytes".to_owned()));
    assert_eq!(
        kind(kit.call(&intent).transaction(large).await),
        ErrorKind::ResultUnavailable
    );
}

async fn a_probe_answers_like_a_claim<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let kit = kit.with(Settings::default().probe(true));
    first_executes_repeats_replay(&kit).await;
    another_payload_is_refused(&kit).await;
    a_final_error_is_replayed(&kit).await;
}

/// A dropped transaction is rolled back soon, not at once.
const PATIENCE: Duration = Duration::from_secs(30);

async fn a_guard_commits_in_complete_alone<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("guard");
    for round in 0..3 {
        let Begun::Execute(mut guard) = kit.call(&intent).wait(PATIENCE).begin::<u32>().await.expect("a claim") else {
            panic!("nothing is recorded yet");
        };
        let _: &mut S::Connection = guard.connection();
        assert_eq!(guard.attempt(), 1);
        assert_eq!(kind(kit.run(&intent, Effect::Succeeds).await), ErrorKind::InFlight);
        match round {
            0 => drop(guard),
            1 => guard.roll_back().await.expect("rolled back"),
            _ => assert_eq!(guard.complete(9).await.expect("committed"), Done::Executed(9)),
        }
    }
    assert!(matches!(kit.call(&intent).begin::<u32>().await, Ok(Begun::Replayed(9))));

    let intent = Intent::new("guard-declined");
    let Begun::Execute(guard) = kit.call(&intent).begin::<u32>().await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    assert_eq!(kind(guard.decline("no").await), ErrorKind::Declined);
    assert_eq!(kind(kit.run(&intent, Effect::Succeeds).await), ErrorKind::Declined);
    assert_eq!(kit.ran(), 0);
}

async fn a_stale_token_changes_nothing<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("stale");
    let parts = super::parts::parts(&intent);
    let mut transaction = kit.store.begin(parts.claim.key.tenant()).await.expect("a transaction");
    let reply = kit
        .store
        .claim_in(&mut transaction, &parts.claim)
        .await
        .expect("a claim");
    assert_eq!(
        reply,
        Reply::Claimed {
            generation: 1,
            attempt: 1,
            took_over: false,
        }
    );
    let again = kit
        .store
        .claim_in(&mut transaction, &parts.claim)
        .await
        .expect("a claim sent again");
    assert_eq!(again, reply, "a claim sent again by its owner is a no-op");
    let stale = Completion {
        owner: OwnerToken::from_bytes([9; 16]),
        ..parts.completion.clone()
    };
    assert_eq!(
        kit.store
            .complete_in(&mut transaction, &stale)
            .await
            .expect("an answer"),
        Completed::Stale
    );
    // The record is as well guarded without an entry.
    let stale = Completion { entry: None, ..stale };
    assert_eq!(
        kit.store
            .complete_in(&mut transaction, &stale)
            .await
            .expect("an answer"),
        Completed::Stale
    );
    let mut stale = parts.completion.clone();
    super::parts::at(&mut stale, 2, 1);
    assert_eq!(
        kit.store
            .complete_in(&mut transaction, &stale)
            .await
            .expect("an answer"),
        Completed::Stale
    );
    // A store may refuse to commit a claim without its outcome; what stands alone after all is unknown, since
    // nobody knows what else was committed with it.
    match kit.store.commit(transaction).await {
        Ok(()) => {
            let record = kit.view(&intent).await.record.expect("the claim was committed alone");
            assert_eq!(record.status, Status::InFlight);
            assert_eq!(
                kind(kit.run(&intent, Effect::Succeeds).await),
                ErrorKind::OutcomeUnknown
            );
            assert_eq!(kit.ran(), 0);
        }
        Err(_) => {
            assert!(kit.view(&intent).await.record.is_none());
            kit.run(&intent, Effect::Succeeds)
                .await
                .expect("nothing was committed, so it runs");
        }
    }
}

async fn a_nested_transaction_is_misuse<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let (outer, inner) = (Intent::new("outer"), Intent::new("inner"));
    let done = kit.call(&outer).transaction(async |_: &mut S::Connection| {
        assert_eq!(kind(kit.run(&inner, Effect::Succeeds).await), ErrorKind::Misuse);
        assert!(kit.call(&inner).begin::<u32>().await.is_err());
        Ok::<u32, EffectError>(1)
    });
    assert_eq!(done.await.expect("the outer effect runs"), Done::Executed(1));
    assert_eq!(kit.ran(), 0);
}
