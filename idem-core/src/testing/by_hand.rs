//! What people do to records: resolve, revoke, reopen.

use std::time::Duration;

use super::expiry::{retention, wait_for_expiry};
use super::leased::{Answer, Downstream, RERUN, run_one};
use super::{Effect, Intent, Kit, Way, kind};
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, EffectError, Resolution, Settings};
use crate::ledger::EntryKind;
use crate::record::Recovery;
use crate::state::Status;
use crate::store::{Store, TransactionalStore};

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    kit.case(
        "a revoked effect is refused until it is reopened",
        revoked_and_reopened(kit),
    )
    .await;
    kit.case(
        "only what happened is revoked, only what was revoked reopened",
        refused_steps(kit),
    )
    .await;
    kit.case("revoking and reopening work through the ledger", without_a_record(kit))
        .await;
    kit.case(
        "a revoked effect frees its place, and cannot be reopened beside another",
        places(kit),
    )
    .await;
    kit.case("a verdict on an earlier attempt changes nothing", stale_verdict(kit))
        .await;
    kit.case(
        "a verdict names its attempt by number and moment",
        verdict_by_half_a_name(kit),
    )
    .await;
    kit.case("of many who revoke or reopen one does", reopened_at_once(kit))
        .await;
    kit.case("stuck effects are listed and reconciled", reconciled(kit))
        .await;
}

pub(super) async fn run_in_transactions<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    kit.case(
        "what is done by hand in a transaction stands or falls with it",
        in_a_transaction(kit),
    )
    .await;
}

async fn revoke<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent, expected: u32) -> Result<(), Error> {
    let by_hand = kit.idem.by_hand("ada", "the wrong case");
    by_hand.revoke(&kit.key(intent), expected).await
}

async fn reopen<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent, expected: u32) -> Result<(), Error> {
    let by_hand = kit.idem.by_hand("ada", "to be had again");
    by_hand.reopen(&kit.key(intent), expected).await
}

fn refusal(result: Result<(), Error>) -> String {
    let error = result.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
    error.to_string()
}

async fn revoked_and_reopened<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("revoked");
    for generation in 1..=3 {
        let done = kit.run(&intent, Effect::Succeeds).await;
        assert_eq!(done.expect("it runs"), Done::Executed(7));
        let early = refusal(revoke(kit, &intent, generation + 1).await);
        assert!(early.contains("another generation"), "{early}");
        if generation > 1 {
            let late = refusal(revoke(kit, &intent, generation - 1).await);
            assert!(late.contains("another generation"), "{late}");
        }
        revoke(kit, &intent, generation).await.expect("it happened");
        let again = refusal(revoke(kit, &intent, generation).await);
        assert!(again.contains("revoked already"), "{again}");
        let error = kit.run(&intent, Effect::Succeeds).await.expect_err("it was undone");
        assert_eq!(error.kind(), ErrorKind::Revoked);
        let outcome = error.outcome().expect("the original outcome is at hand");
        assert_eq!(outcome.decode::<u32>().expect("kept").expect("read"), 7);
        let other = kit.run(&intent.amount(2), Effect::Succeeds).await;
        assert_eq!(kind(other), ErrorKind::Mismatch);
        reopen(kit, &intent, generation).await.expect("it was revoked");
        let again = refusal(reopen(kit, &intent, generation).await);
        assert!(again.contains("only a revoked effect can be reopened"), "{again}");
        let view = kit.view(&intent).await;
        let record = view.record.expect("a record");
        assert_eq!((record.status, record.generation), (Status::Failed, generation + 1));
        assert_eq!(view.ledger.own.expect("an entry").kind, EntryKind::Reopened);
        // A reopened generation is bound to its request.
        let other = kit.run(&intent.amount(2), Effect::Succeeds).await;
        assert_eq!(kind(other), ErrorKind::Mismatch);
        assert_eq!(kit.ran(), 1);
    }
    let first = kit.key(&intent).row_id(1);
    assert_ne!(first, kit.key(&intent).row_id(2), "another generation, another row");
}

async fn refused_steps<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("refused steps");
    let never = refusal(revoke(kit, &intent, 1).await);
    assert!(never.contains("no effect of this key"), "{never}");
    assert_eq!(kind(kit.run(&intent, Effect::Declines).await), ErrorKind::Declined);
    let declined = refusal(revoke(kit, &intent, 1).await);
    assert!(declined.contains("only an effect that happened"), "{declined}");
    let intent = Intent::new("refused steps, completed");
    kit.run(&intent, Effect::Succeeds).await.expect("it runs");
    let completed = refusal(reopen(kit, &intent, 1).await);
    assert!(completed.contains("only a revoked effect"), "{completed}");
    revoke(kit, &intent, 1).await.expect("it happened");
    let other = refusal(reopen(kit, &intent, 2).await);
    assert!(other.contains("another generation"), "{other}");
    for (actor, reason) in [("", "why"), ("ada", " ")] {
        let by_hand = kit.idem.by_hand(actor, reason);
        refusal(by_hand.reopen(&kit.key(&intent), 1).await);
    }
    assert_eq!(kind(kit.run(&intent, Effect::Succeeds).await), ErrorKind::Revoked);
    kit.ran();
}

async fn without_a_record<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for purged in [false, true] {
        let intent = Intent::new("revoked late");
        let call = kit.call(&intent).retention(retention());
        kit.finish(call, Effect::Succeeds).await.expect("it runs");
        let forgotten = async || {
            wait_for_expiry().await;
            if purged {
                kit.idem.purge_expired(1000).await.expect("a purge");
                assert!(kit.view(&intent).await.record.is_none());
            }
        };
        forgotten().await;
        revoke(&brief(kit), &intent, 1).await.expect("the ledger holds it");
        let again = refusal(revoke(kit, &intent, 1).await);
        assert!(again.contains("revoked already"), "{again}");
        forgotten().await;
        let again = refusal(revoke(kit, &intent, 1).await);
        assert!(again.contains("revoked already"), "{again}");
        assert_eq!(kind(kit.run(&intent, Effect::Succeeds).await), ErrorKind::Revoked);
        let other = kit.run(&intent.amount(2), Effect::Succeeds).await;
        assert_eq!(kind(other), ErrorKind::Mismatch);
        let early = refusal(reopen(kit, &intent, 2).await);
        assert!(early.contains("another generation"), "{early}");
        reopen(&brief(kit), &intent, 1)
            .await
            .expect("the ledger says that it was revoked");
        forgotten().await;
        let reopened = refusal(revoke(kit, &intent, 1).await);
        assert!(reopened.contains("has not happened since"), "{reopened}");
        refusal(reopen(kit, &intent, 1).await);
        let other = kit.run(&intent.amount(2), Effect::Succeeds).await;
        assert_eq!(kind(other), ErrorKind::Mismatch, "it is bound to its request");
        let done = kit.run(&intent, Effect::Succeeds).await;
        assert_eq!(done.expect("it runs again"), Done::Executed(7));
        let record = kit.view(&intent).await.record.expect("a record");
        assert_eq!((record.generation, record.attempt), (2, 1));
        assert_eq!(kit.ran(), 2);
    }
}

async fn places<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for leased in [false, true] {
        let first = Intent::new("place of a revoked effect").once_per("p");
        let (second, downstream) = (first.case("second"), Downstream::default());
        let have = async |intent: &Intent| match leased {
            true => run_one(kit, intent, RERUN, &downstream, Answer::Value(7)).await,
            false => kit.run(intent, Effect::Succeeds).await,
        };
        have(&first).await.expect("the place is free");
        assert_eq!(kind(have(&second).await), ErrorKind::AlreadyExecuted);
        revoke(kit, &first, 1).await.expect("it happened");
        have(&second).await.expect("the place is free again");
        let error = reopen(kit, &first, 1).await.expect_err("the place is taken");
        assert_eq!(error.kind(), ErrorKind::AlreadyExecuted);
        assert_eq!(error.entry().expect("the holder").key, kit.key(&second).as_str());
        revoke(kit, &second, 1).await.expect("it happened");
        reopen(kit, &first, 1).await.expect("the place is free");
        assert_eq!(have(&first).await.expect("it runs"), Done::Executed(7));
        assert_eq!(kind(have(&second.case("third")).await), ErrorKind::AlreadyExecuted);
    }
    kit.ran();
}

/// What is settled through it is soon forgotten.
fn brief<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) -> Kit<S, W> {
    kit.with(Settings::default().lease(BRIEF).retention(BRIEF))
}

const BRIEF: Duration = Duration::from_millis(10);

/// Attempts of one record have their first moment in common, and numbers are counted anew when a record is forgotten:
/// each has to be compared.
async fn verdict_by_half_a_name<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let refused = async |intent: &Intent, attempt| {
        let by_hand = kit.idem.by_hand("bob", "looked into the first attempt");
        let key = kit.key(intent);
        let told = refusal(by_hand.resolve(&key, attempt, Resolution::<u32>::DidNotHappen).await);
        assert!(told.contains("another attempt stands"), "{told}");
    };
    let attempt = async |intent: &Intent| kit.view(intent).await.record.expect("a record").attempt_id();
    let downstream = Downstream::default();

    let taken_over = Intent::new("taken over");
    let silent = async |intent: &Intent, recovery| {
        let silent = run_one(kit, intent, recovery, &downstream, Answer::Silence).await;
        assert!(silent.is_err(), "{silent:?}");
        attempt(intent).await
    };
    let first = silent(&taken_over, RERUN).await;
    let second = silent(&taken_over, RERUN).await;
    assert_eq!((first.since, first.attempt + 1), (second.since, second.attempt));
    refused(&taken_over, first).await;

    let forgotten = Intent::new("forgotten");
    let first = silent(&forgotten, Recovery::Hold).await;
    let resolved = brief(kit).resolve(&forgotten, Resolution::<u32>::DidNotHappen).await;
    resolved.expect("its outcome was unknown");
    tokio::time::sleep(4 * BRIEF).await;
    let second = silent(&forgotten, Recovery::Hold).await;
    assert_eq!((first.generation, first.attempt), (second.generation, second.attempt));
    refused(&forgotten, first).await;
}

/// Somebody looks into the first attempt for so long that the second is unknown, too.
async fn stale_verdict<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("stale verdict"), Downstream::default());
    let silent = async || kind(run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Silence).await);
    assert_eq!(silent().await, ErrorKind::OutcomeUnknown);
    let first = kit.view(&intent).await.record.expect("a record").attempt_id();
    kit.resolve(&intent, Resolution::<u32>::DidNotHappen)
        .await
        .expect("resolved");
    assert_eq!(silent().await, ErrorKind::OutcomeUnknown);
    for resolution in [Resolution::DidNotHappen, Resolution::Happened(1)] {
        let by_hand = kit.idem.by_hand("bob", "looked into the first attempt");
        let told = refusal(by_hand.resolve(&kit.key(&intent), first, resolution).await);
        assert!(told.contains("another attempt stands"), "{told}");
    }
    assert_eq!(silent().await, ErrorKind::OutcomeUnknown, "it is unknown as before");
    kit.resolve(&intent, Resolution::Happened(5))
        .await
        .expect("this attempt's outcome is unknown");
    let done = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(1)).await;
    assert_eq!(
        (done.expect("it is known"), downstream.called()),
        (Done::Replayed(5), 2)
    );
}

async fn in_a_transaction<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    for commits in [false, true] {
        let (intent, undo) = (Intent::new("undone"), Intent::new("undo"));
        kit.run(&intent, Effect::Succeeds).await.expect("it runs");
        let key = kit.key(&intent);
        let effect = async |connection: &mut S::Connection| {
            let by_hand = || kit.idem.by_hand("ada", "in one transaction");
            by_hand().revoke_in(connection, &key, 1).await?;
            let told = by_hand()
                .reopen_in(connection, &key, 7)
                .await
                .expect_err("another generation");
            assert_eq!(told.kind(), ErrorKind::Misuse);
            by_hand().reopen_in(connection, &key, 1).await?;
            // On a connection of its own it would commit apart from the effect.
            let told = by_hand().revoke(&key, 1).await.expect_err("inside an effect");
            assert!(told.to_string().contains("`_in`"), "{told}");
            let told = kit.idem.purge_expired(100).await.expect_err("inside an effect");
            assert_eq!(told.kind(), ErrorKind::Misuse);
            let own = by_hand().revoke_in(connection, &kit.key(&undo), 1).await;
            assert_eq!(own.expect_err("it asks for itself").kind(), ErrorKind::Misuse);
            if commits {
                Ok(1)
            } else {
                Err(EffectError::nothing_happened("rolled back"))
            }
        };
        let done = kit.call(&undo).transaction_once(effect).await;
        assert_eq!(done.is_ok(), commits, "{done:?}");
        let expected = if commits { Done::Executed(7) } else { Done::Replayed(7) };
        let again = kit.run(&intent, Effect::Succeeds).await;
        assert_eq!(again.expect("an answer"), expected);
    }
    kit.ran();
}

async fn reopened_at_once<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for forgotten in [false, true] {
        let intent = Intent::new("reopened at once");
        let keep = if forgotten { retention() } else { super::leased::HOUR };
        kit.finish(kit.call(&intent).retention(keep), Effect::Succeeds)
            .await
            .expect("it runs");
        if forgotten {
            wait_for_expiry().await;
            kit.idem.purge_expired(1000).await.expect("a purge");
        }
        for revokes in [true, false] {
            let racing = (0..8).map(|_| {
                let (idem, key) = (kit.idem.clone(), kit.key(&intent));
                tokio::spawn(async move {
                    let by_hand = idem.by_hand("ada", "at once");
                    if revokes {
                        by_hand.revoke(&key, 1).await
                    } else {
                        by_hand.reopen(&key, 1).await
                    }
                })
            });
            let mut done = 0;
            for task in racing.collect::<Vec<_>>() {
                match task.await.expect("no panic") {
                    Ok(()) => done += 1,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Misuse, "{error}"),
                }
            }
            assert_eq!(done, 1, "revokes {revokes}, forgotten {forgotten}");
        }
        let record = kit.view(&intent).await.record.expect("a record");
        assert_eq!((record.status, record.generation), (Status::Failed, 2));
    }
    kit.ran();
}

async fn reconciled<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let downstream = Downstream::default();
    let intents: Vec<_> = (0..4).map(|_| Intent::new("reconciled")).collect();
    for intent in &intents {
        let silent = run_one(kit, intent, Recovery::Hold, &downstream, Answer::Silence).await;
        assert_eq!(kind(silent), ErrorKind::OutcomeUnknown);
    }
    let keys: Vec<_> = intents.iter().map(|intent| kit.key(intent)).collect();
    let mine = async |older_than| {
        let stuck = kit.idem.stuck(older_than, 10_000).await.expect("a list");
        stuck
            .into_iter()
            .filter(|stuck| keys.contains(&stuck.key))
            .collect::<Vec<_>>()
    };
    assert!(mine(super::leased::HOUR).await.is_empty(), "none is that old");
    assert!(mine(Duration::MAX).await.is_empty(), "none can be that old");
    let listed = mine(Duration::ZERO).await;
    assert_eq!(listed.len(), 4);
    assert!(
        listed.iter().all(|stuck| stuck.state == crate::StuckState::Unknown),
        "{listed:?}"
    );
    assert!(
        listed.iter().all(|stuck| stuck.action.as_deref() == Some("kit.act")),
        "{listed:?}"
    );
    let nobody = async |_: &crate::Stuck| -> Result<Option<Resolution<serde_json::Value>>, String> {
        panic!("the downstream is not asked in nobody's name")
    };
    let told = kit.idem.reconcile(Duration::ZERO, 10_000, " ", nobody).await;
    assert_eq!(told.expect_err("no actor").kind(), ErrorKind::Misuse);
    let hook = async |stuck: &crate::Stuck| match keys.iter().position(|key| *key == stuck.key) {
        Some(0) => Ok(Some(Resolution::Happened(serde_json::json!(7)))),
        Some(1) => Ok(Some(Resolution::DidNotHappen)),
        Some(2) => Err("the downstream is down"),
        _ => Ok(None),
    };
    let zero = Duration::ZERO;
    let told = kit
        .idem
        .reconcile(zero, 10_000, "reconciliation", hook)
        .await
        .expect("it runs");
    assert_eq!(told.resolved, 2);
    assert_eq!(mine(zero).await.len(), 2, "what nobody can tell stays listed");
    let mut answers = Vec::new();
    for intent in &intents {
        let answer = run_one(kit, intent, Recovery::Hold, &downstream, Answer::Value(9)).await;
        answers.push(answer.map_err(|error| error.kind()));
    }
    let unknown = Err(ErrorKind::OutcomeUnknown);
    assert_eq!(
        answers,
        [Ok(Done::Replayed(7)), Ok(Done::Executed(9)), unknown, unknown]
    );
}
