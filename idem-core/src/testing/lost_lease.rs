//! Owners that died, came back late, or send their steps again.

use super::leased::{Answer, Downstream, HOUR, LEASE, RERUN, run_one};
use super::{Intent, Kit, Way, kind};
use crate::error::ErrorKind;
use crate::execute::{Done, Effect, Leased, Resolution, Settings};
use crate::ledger::EntryKind;
use crate::record::{Outcome, OutcomeKind, OwnerToken, Recovery};
use crate::state::{Claim, Reply, Settlement, Status};
use crate::store::{Completed, Completion, Store, StoreClaim};

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let kit = &kit.with(Settings::default().lease(LEASE));
    kit.case("after a lost lease the recovery decides", a_lost_lease(kit))
        .await;
    kit.case("beyond its horizon a rerun is unknown", beyond_the_horizon(kit))
        .await;
    kit.case("a zombie changes nothing", a_zombie_changes_nothing(kit))
        .await;
    kit.case(
        "a late acknowledgement completes an unknown outcome",
        a_late_acknowledgement(kit),
    )
    .await;
    kit.case("every step sent again is a no-op", steps_sent_again(kit))
        .await;
    if kit.store.capabilities().ledger {
        kit.case(
            "an unknown outcome is resolved by a person",
            an_unknown_outcome_is_resolved(kit),
        )
        .await;
    }
}

/// A claim whose owner has died: nobody renews it.
async fn orphan<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent, recovery: Recovery) -> StoreClaim {
    let parts = super::parts::parts(intent);
    let claim = Claim {
        lease: Some((LEASE, recovery)),
        ..parts.claim.claim
    };
    let claim = StoreClaim { claim, ..parts.claim };
    let reply = kit
        .store
        .claim(&claim, Some(&super::parts::intended(intent)))
        .await
        .expect("a claim");
    assert!(matches!(reply, Reply::Claimed { .. }), "{reply:?}");
    claim
}

async fn a_lost_lease<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (hold, rerun) = (Intent::new("orphan-hold"), Intent::new("orphan-rerun"));
    orphan(kit, &hold, Recovery::Hold).await;
    orphan(kit, &rerun, RERUN).await;
    let downstream = Downstream::default();
    for intent in [&hold, &rerun] {
        let early = run_one(kit, intent, RERUN, &downstream, Answer::Value(1)).await;
        assert_eq!(kind(early), ErrorKind::InFlight);
    }
    tokio::time::sleep(LEASE + LEASE / 4).await;
    let held = run_one(kit, &hold, RERUN, &downstream, Answer::Value(1)).await;
    assert_eq!(
        kind(held),
        ErrorKind::OutcomeUnknown,
        "the stored recovery is the stricter one"
    );
    assert_eq!(kit.view(&hold).await.record.expect("a record").status, Status::Unknown);
    assert_eq!(downstream.called(), 0);
    let taken = kit
        .call(&rerun)
        .run(RERUN, async move |effect: Effect| Ok(effect.attempt()))
        .await;
    assert_eq!(taken.expect("it is taken over"), Done::Executed(2));
}

async fn beyond_the_horizon<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("horizon"), Downstream::default());
    let short = Recovery::Rerun { remembered_for: LEASE };
    orphan(kit, &intent, short).await;
    tokio::time::sleep(LEASE + LEASE / 4).await;
    let result = run_one(kit, &intent, RERUN, &downstream, Answer::Value(1)).await;
    assert_eq!((kind(result), downstream.called()), (ErrorKind::OutcomeUnknown, 0));
}

fn completion(intent: &Intent, owner: OwnerToken, value: u32, attempt: u32) -> Completion {
    let mut completion = super::parts::parts(intent).completion;
    completion.owner = owner;
    super::parts::at(&mut completion, 1, attempt);
    completion.outcome = Outcome::encode(OutcomeKind::Success, &value).expect("a number");
    completion
}

async fn a_zombie_changes_nothing<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("zombie");
    let zombie = orphan(kit, &intent, RERUN).await.claim.owner;
    tokio::time::sleep(LEASE + LEASE / 4).await;
    let Leased::Execute(guard) = kit.call(&intent).lease::<u32>(RERUN).await.expect("it is taken over") else {
        panic!("nothing is recorded yet");
    };
    assert_eq!(guard.effect().attempt(), 2);
    let stale = kit
        .store
        .complete(&completion(&intent, zombie, 1, 1))
        .await
        .expect("an answer");
    assert_eq!(stale, Completed::Stale);
    for event in [
        Settlement::Fail { owner: zombie },
        Settlement::Release {
            owner: zombie,
            retention: HOUR,
        },
        Settlement::Renew {
            owner: zombie,
            lease: HOUR,
        },
    ] {
        let key = kit.call(&intent).key().expect("a key");
        assert_eq!(
            kit.store.settle(&key, &event, &[]).await.expect("an answer"),
            Reply::Stale,
            "{event:?}"
        );
    }
    assert_eq!(
        guard.complete(2).await.expect("the new owner's result stands"),
        Done::Executed(2)
    );
}

async fn an_unknown_outcome_is_resolved<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("resolve").once_per("p"), Downstream::default());
    let resolve = async |resolution: Resolution<u32>| kit.resolve(&intent, resolution).await;
    assert_eq!(
        resolve(Resolution::DidNotHappen)
            .await
            .expect_err("nothing is unknown")
            .kind(),
        ErrorKind::Misuse
    );
    assert_eq!(
        kind(run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Silence).await),
        ErrorKind::OutcomeUnknown
    );
    resolve(Resolution::DidNotHappen).await.expect("resolved");
    assert_eq!(
        resolve(Resolution::DidNotHappen).await.expect_err("it is known").kind(),
        ErrorKind::Misuse
    );
    assert_eq!(
        kind(run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Silence).await),
        ErrorKind::OutcomeUnknown
    );
    assert_eq!(
        downstream.called(),
        2,
        "it ran again after somebody said that it had not happened"
    );
    resolve(Resolution::Happened(5)).await.expect("resolved");
    let again = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(6)).await;
    assert_eq!(
        (again.expect("it is known"), downstream.called()),
        (Done::Replayed(5), 2)
    );
    let own = kit
        .view(&intent)
        .await
        .ledger
        .own
        .expect("what happened is in the ledger as executed");
    assert_eq!(own.kind, EntryKind::Executed);
    let other = run_one(
        kit,
        &intent.case("other"),
        Recovery::Hold,
        &downstream,
        Answer::Value(7),
    )
    .await;
    assert_eq!(kind(other), ErrorKind::AlreadyExecuted, "it holds its place");
}

async fn a_late_acknowledgement<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("late"), Downstream::default());
    let owner = orphan(kit, &intent, Recovery::Hold).await.claim.owner;
    tokio::time::sleep(LEASE + LEASE / 4).await;
    let asked = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(1)).await;
    assert_eq!(kind(asked), ErrorKind::OutcomeUnknown);
    let late = kit
        .store
        .complete(&completion(&intent, owner, 5, 1))
        .await
        .expect("an answer");
    assert_eq!(late, Completed::Done);
    let again = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(1)).await;
    assert_eq!(again.expect("it is known now"), Done::Replayed(5));
    assert_eq!(downstream.called(), 0);
}

async fn steps_sent_again<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("resent");
    let claim = orphan(kit, &intent, Recovery::Hold).await;
    let intended = super::parts::intended(&intent);
    let again = kit.store.claim(&claim, Some(&intended)).await.expect("an answer");
    assert_eq!(
        again,
        Reply::Claimed {
            generation: 1,
            attempt: 1,
            took_over: false,
        }
    );
    let owner = claim.claim.owner;
    for _ in 0..2 {
        let renewed = kit
            .store
            .settle(&claim.key, &Settlement::Renew { owner, lease: LEASE }, &[])
            .await;
        assert_eq!(renewed.expect("an answer"), Reply::Done);
    }
    for _ in 0..2 {
        let failed = kit.store.settle(&claim.key, &Settlement::Fail { owner }, &[]).await;
        assert_eq!(
            failed.expect("an answer"),
            Reply::OutcomeUnknown {
                generation: 1,
                attempt: 1
            }
        );
    }
    let completion = completion(&intent, owner, 3, 1);
    for _ in 0..2 {
        assert_eq!(
            kit.store.complete(&completion).await.expect("an answer"),
            Completed::Done
        );
    }
    assert_eq!(
        kit.view(&intent).await.record.expect("a record").status,
        Status::Completed
    );
}
