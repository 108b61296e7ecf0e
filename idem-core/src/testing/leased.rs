//! Effects outside of the storage, under a lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Intent, Kit, Way, kind};
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, Effect, EffectError, Leased, Resolution, Settings};
use crate::record::{Mode, Recovery};
use crate::state::Status;
use crate::store::{Store, TransactionalStore};

/// Long enough for a busy machine to renew in time, short enough to wait for its end.
pub(super) const LEASE: Duration = Duration::from_millis(600);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const RERUN: Recovery = Recovery::Rerun { remembered_for: HOUR };

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let kit = &kit.with(Settings::default().lease(LEASE));
    kit.case("a leased effect runs once and replays", runs_once(kit)).await;
    kit.case(
        "an unclassified error holds or lets the next attempt run",
        unclassified_errors(kit),
    )
    .await;
    kit.case("a panic is an unclassified error", a_panic_is_unclassified(kit))
        .await;
    kit.case("nothing happened lets the next attempt run", nothing_happened(kit))
        .await;
    kit.case(
        "that nothing happened says nothing of an earlier attempt",
        nothing_happened_later(kit),
    )
    .await;
    kit.case(
        "that nothing happened may be said time and again",
        nothing_happened_time_and_again(kit),
    )
    .await;
    kit.case("a final error of a leased effect replays", a_final_error_replays(kit))
        .await;
    kit.case("a lease is renewed while the effect runs", a_lease_is_renewed(kit))
        .await;
    kit.case(
        "a dropped caller does not cancel a leased effect",
        a_dropped_caller(kit),
    )
    .await;
    kit.case(
        "a caller dropped at any step leaves nothing unknown",
        a_caller_dropped_at_any_step(kit),
    )
    .await;
    kit.case(
        "a leased guard completes or leaves the outcome unknown",
        leased_guards(kit),
    )
    .await;
    if !kit.store.capabilities().ledger {
        return;
    }
    kit.case(
        "a leased effect reserves its place with the claim",
        a_place_is_reserved(kit),
    )
    .await;
    kit.case(
        "only a place that the key holds is freed",
        only_its_own_place_is_freed(kit),
    )
    .await;
}

pub(super) async fn run_beside_transactions<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    kit.case("the two modes share their records", modes_share_records(kit))
        .await;
}

/// Counts the calls that reached the downstream, and under which keys.
#[derive(Clone, Default)]
pub(super) struct Downstream(Arc<AtomicU32>);

impl Downstream {
    pub(super) fn called(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    fn call(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the downstream did not answer")]
struct TimedOut;

pub(super) enum Answer {
    Value(u32),
    Nothing,
    Silence,
    No,
    Panic,
}

pub(super) async fn run_one<S: Store + Clone, W: Way<S>>(
    kit: &Kit<S, W>,
    intent: &Intent,
    recovery: Recovery,
    downstream: &Downstream,
    answer: Answer,
) -> Result<Done<u32>, Error> {
    let downstream = downstream.clone();
    kit.call(intent)
        .run(recovery, async move |_: Effect| {
            downstream.call();
            match answer {
                Answer::Value(value) => Ok(value),
                Answer::Nothing => Err(EffectError::nothing_happened(TimedOut)),
                Answer::Silence => Err(EffectError::from(TimedOut)),
                Answer::No => Err(EffectError::final_("no")),
                Answer::Panic => panic!("in a leased effect of the conformance kit"),
            }
        })
        .await
}

async fn runs_once<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("leased"), Downstream::default());
    let first = run_one(kit, &intent, RERUN, &downstream, Answer::Value(7)).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    let again = run_one(kit, &intent, RERUN, &downstream, Answer::Value(8)).await;
    assert_eq!(again.expect("it replays"), Done::Replayed(7));
    let changed = run_one(kit, &intent.amount(2), RERUN, &downstream, Answer::Value(8)).await;
    assert_eq!(kind(changed), ErrorKind::Mismatch);
    assert_eq!(downstream.called(), 1);
    let record = kit.view(&intent).await.record.expect("a record");
    assert_eq!(
        (record.status, record.mode, record.lease_until),
        (Status::Completed, Mode::Leased, None)
    );
}

async fn modes_share_records<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let (intent, downstream) = (Intent::new("leased, then not"), Downstream::default());
    let first = run_one(kit, &intent, RERUN, &downstream, Answer::Value(7)).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    let transactional = kit.call(&intent).transaction(async |_: &mut S::Connection| Ok(9)).await;
    assert_eq!(transactional.expect("it replays"), Done::Replayed(7));

    let intent = Intent::new("not leased, then");
    let first = kit.call(&intent).transaction(async |_: &mut S::Connection| Ok(9)).await;
    assert_eq!(first.expect("it runs"), Done::Executed(9));
    let leased = run_one(kit, &intent, RERUN, &downstream, Answer::Value(7)).await;
    assert_eq!(
        (leased.expect("it replays"), downstream.called()),
        (Done::Replayed(9), 1)
    );
}

async fn unclassified_errors<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("hold"), Downstream::default());
    for _ in 0..3 {
        let result = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Silence).await;
        assert_eq!(kind(result), ErrorKind::OutcomeUnknown);
    }
    assert_eq!(downstream.called(), 1, "under `Hold` nothing is sent twice");
    assert_eq!(
        kit.view(&intent).await.record.expect("a record").status,
        Status::Unknown
    );

    let (intent, downstream) = (Intent::new("rerun"), Downstream::default());
    let failed = run_one(kit, &intent, RERUN, &downstream, Answer::Silence)
        .await
        .expect_err("an error");
    assert!(
        failed.kind() == ErrorKind::Effect && failed.is_retryable(),
        "{failed:?}"
    );
    let again = kit
        .call(&intent)
        .run(RERUN, async move |effect: Effect| Ok(effect.attempt()))
        .await;
    assert_eq!(again.expect("it runs at once"), Done::Executed(2));
}

async fn a_panic_is_unclassified<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("panic"), Downstream::default());
    let error = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Panic)
        .await
        .expect_err("it panicked");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let source = std::error::Error::source(&error)
        .map(ToString::to_string)
        .unwrap_or_default();
    assert!(source.contains("in a leased effect of the conformance kit"), "{source}");
}

async fn nothing_happened<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("nothing"), Downstream::default());
    let failed = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Nothing)
        .await
        .expect_err("an error");
    assert!(
        failed.kind() == ErrorKind::Effect && failed.is_retryable(),
        "{failed:?}"
    );
    assert_eq!(
        kit.view(&intent).await.record.expect("its counters").status,
        Status::Failed
    );
    // Nothing is bound, not even the payload.
    let again = kit
        .call(&intent.amount(2))
        .run(Recovery::Hold, async move |effect: Effect| Ok(effect.attempt()))
        .await;
    assert_eq!(again.expect("it runs"), Done::Executed(2));
}

async fn nothing_happened_later<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("nothing-later"), Downstream::default());
    for answer in [Answer::Silence, Answer::Nothing] {
        run_one(kit, &intent, RERUN, &downstream, answer)
            .await
            .expect_err("an error");
    }
    // The first attempt may have reached the downstream, with this payload.
    assert_eq!(
        kit.view(&intent).await.record.expect("the claim").status,
        Status::InFlight
    );
    let changed = kit
        .call(&intent.amount(2))
        .run(RERUN, async move |_: Effect| Ok(0))
        .await;
    assert_eq!(kind(changed), ErrorKind::Mismatch);
    let again = kit
        .call(&intent)
        .run(RERUN, async move |effect: Effect| Ok(effect.attempt()))
        .await;
    assert_eq!(again.expect("it runs"), Done::Executed(3));
}

async fn a_final_error_replays<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("final"), Downstream::default());
    for _ in 0..2 {
        let error = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::No)
            .await
            .expect_err("a final error");
        assert_eq!(error.declined::<String>().as_deref(), Some("no"));
    }
    assert_eq!(downstream.called(), 1);
}

async fn a_lease_is_renewed<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("renewed");
    let (idem, slow) = (kit.idem.clone(), intent.clone());
    let running = tokio::spawn(async move {
        let effect = async move |effect: Effect| {
            tokio::time::sleep(3 * LEASE).await;
            Ok(u32::from(effect.is_lost()))
        };
        idem.call(&slow).run(Recovery::Hold, effect).await
    });
    // A process of its own, as far as the registry knows.
    let other = kit.with(Settings::default().lease(LEASE));
    tokio::time::sleep(2 * LEASE).await;
    let error = run_one(
        &other,
        &intent,
        Recovery::Hold,
        &Downstream::default(),
        Answer::Value(1),
    )
    .await;
    let error = error.expect_err("the first still runs");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    assert!(error.retry_after().is_some_and(|after| after <= LEASE), "{error:?}");
    assert_eq!(running.await.expect("no panic").expect("it runs"), Done::Executed(0));
}

async fn a_dropped_caller<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("dropped"), Downstream::default());
    let (idem, asked, counted) = (kit.idem.clone(), intent.clone(), downstream.clone());
    let caller = tokio::spawn(async move {
        let effect = async move |_: Effect| {
            counted.call();
            tokio::time::sleep(LEASE / 6).await;
            Ok(7)
        };
        idem.call(&asked).run(Recovery::Hold, effect).await
    });
    while downstream.called() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    caller.abort();
    assert_eq!(kit.idem.drain(Duration::from_secs(30)).await, 0);
    let again = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(8)).await;
    assert_eq!(again.expect("it ran to its end"), Done::Replayed(7));
}

async fn a_place_is_reserved<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (first, downstream) = (Intent::new("place").once_per("p"), Downstream::default());
    let second = first.case("second");
    let Leased::Execute(guard) = kit.call(&first).lease::<u32>(RERUN).await.expect("the place is free") else {
        panic!("nothing is recorded yet");
    };
    let refused = run_one(kit, &second, RERUN, &downstream, Answer::Value(1))
        .await
        .expect_err("the place is reserved");
    assert_eq!(refused.kind(), ErrorKind::AlreadyExecuted);
    assert_eq!(
        refused.entry().expect("the holder").key,
        kit.call(&first).key().expect("a key").as_str()
    );
    // What is known not to have happened frees it.
    assert_eq!(
        kind(guard.fail(EffectError::nothing_happened(TimedOut)).await),
        ErrorKind::Effect
    );
    let third = first.case("third");
    assert_eq!(
        kind(run_one(kit, &third, RERUN, &downstream, Answer::No).await),
        ErrorKind::Declined
    );
    let done = run_one(kit, &second, RERUN, &downstream, Answer::Value(1)).await;
    assert_eq!(done.expect("the place is free again"), Done::Executed(1));
    let refused = run_one(kit, &first, RERUN, &downstream, Answer::Value(1)).await;
    assert_eq!((kind(refused), downstream.called()), (ErrorKind::AlreadyExecuted, 2));
    // A second attempt of the same key has the place already.
    let retried = Intent::new("place").once_per("p");
    assert_eq!(
        kind(run_one(kit, &retried, RERUN, &downstream, Answer::Silence).await),
        ErrorKind::Effect
    );
    let done = run_one(kit, &retried, RERUN, &downstream, Answer::Value(2)).await;
    assert_eq!(done.expect("it runs again"), Done::Executed(2));
    let other = run_one(kit, &retried.case("other"), RERUN, &downstream, Answer::Value(3)).await;
    assert_eq!(kind(other), ErrorKind::AlreadyExecuted);
}

/// Each attempt says it of all there were, as long as each said it.
async fn nothing_happened_time_and_again<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (intent, downstream) = (Intent::new("down"), Downstream::default());
    for attempt in 1..=4 {
        let failed = run_one(kit, &intent, RERUN, &downstream, Answer::Nothing).await;
        assert_eq!(kind(failed), ErrorKind::Effect);
        let record = kit.view(&intent).await.record.expect("its counters");
        assert_eq!((record.status, record.attempt), (Status::Failed, attempt));
    }
    // And what came before does not count against one that dies.
    let silent = run_one(kit, &intent, RERUN, &downstream, Answer::Silence).await;
    assert_eq!(kind(silent), ErrorKind::Effect);
    let late = run_one(kit, &intent, RERUN, &downstream, Answer::Nothing).await;
    assert_eq!(kind(late), ErrorKind::Effect);
    let record = kit.view(&intent).await.record.expect("the claim");
    assert_eq!((record.status, record.attempt), (Status::InFlight, 6));
}

/// Nobody has to find out about an effect that was never sent.
async fn a_caller_dropped_at_any_step<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for polls in 0..12 {
        let (intent, downstream) = (Intent::new("dropped early"), Downstream::default());
        {
            let mut run = std::pin::pin!(run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(7)));
            for _ in 0..polls {
                let ended =
                    std::future::poll_fn(|context| std::task::Poll::Ready(run.as_mut().poll(context).is_ready()));
                if ended.await {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert_eq!(kit.idem.drain(Duration::from_secs(30)).await, 0);
        let again = run_one(kit, &intent, Recovery::Hold, &downstream, Answer::Value(7)).await;
        assert_eq!(again.expect("it is known").into_inner(), 7, "{polls} polls");
        assert_eq!(downstream.called(), 1, "{polls} polls");
    }
}

/// What is freed is what the ledger says the key holds, whatever the call names.
async fn only_its_own_place_is_freed<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let (holder, downstream) = (Intent::new("holder").once_per("p"), Downstream::default());
    // It began before its type declared a place.
    let old = Intent {
        place: None,
        ..holder.case("old")
    };
    let silent = run_one(kit, &old, Recovery::Hold, &downstream, Answer::Silence).await;
    assert_eq!(kind(silent), ErrorKind::OutcomeUnknown);
    let held = run_one(kit, &holder, RERUN, &downstream, Answer::Value(1)).await;
    assert_eq!(held.expect("the place is free"), Done::Executed(1));
    let resolved = kit.resolve(&old, Resolution::<u32>::DidNotHappen).await;
    resolved.expect("resolved");
    let other = run_one(kit, &holder.case("other"), RERUN, &downstream, Answer::Value(2)).await;
    assert_eq!(
        kind(other),
        ErrorKind::AlreadyExecuted,
        "the holder's place stays taken"
    );

    // And a verdict, which names no place, frees it all the same.
    let first = Intent::new("named").once_per("p");
    assert_eq!(
        kind(run_one(kit, &first, Recovery::Hold, &downstream, Answer::Silence).await),
        ErrorKind::OutcomeUnknown
    );
    let resolved = kit.resolve(&first, Resolution::<u32>::DidNotHappen).await;
    resolved.expect("resolved");
    let next = run_one(kit, &first.case("next"), RERUN, &downstream, Answer::Value(3)).await;
    assert_eq!(next.expect("the place is free"), Done::Executed(3));
}

async fn leased_guards<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("leased-guard");
    let Leased::Execute(guard) = kit.call(&intent).lease::<u32>(Recovery::Hold).await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    drop(guard);
    assert_eq!(kit.idem.drain(Duration::from_secs(30)).await, 0);
    let asked = run_one(kit, &intent, Recovery::Hold, &Downstream::default(), Answer::Value(1)).await;
    assert_eq!(kind(asked), ErrorKind::OutcomeUnknown);

    let intent = Intent::new("leased-guard-done");
    let Leased::Execute(guard) = kit.call(&intent).lease::<u32>(Recovery::Hold).await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    assert_eq!(guard.complete(4).await.expect("recorded"), Done::Executed(4));
    assert!(matches!(
        kit.call(&intent).lease::<u32>(Recovery::Hold).await,
        Ok(Leased::Replayed(4))
    ));
}
