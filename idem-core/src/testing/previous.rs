//! Two builds with two definitions of a key.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::expiry::{retention, wait_for_expiry};
use super::leased::RERUN;
use super::{Effect, Intent, Kit, Way, kind};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::execute::{Done, EffectError, Settings};
use crate::key::canonical::{CanonicalError, Members};
use crate::key::{
    Derived, FromType, Idempotent, IdempotentFields, KeyError, Tenant, TenantKnown, TenantSource, derive,
};
use crate::state::Status;
use crate::store::{Store, TransactionalStore, View};

pub(super) async fn run<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    kit.case("one effect under two definitions of its key", one_effect(kit))
        .await;
    kit.case("one outside effect under two definitions", one_outside_effect(kit))
        .await;
    kit.case("an attempt of the other build is taken over", a_takeover(kit))
        .await;
    kit.case("an alias outlives its record", an_alias_outlives(kit)).await;
    kit.case("a place under either definition", a_place(kit)).await;
    kit.case("an alias for a key that this build does not make", a_foreign_alias(kit))
        .await;
    kit.case("builds that claim at the same time", at_the_same_time(kit))
        .await;
}

pub(super) async fn run_in_transactions<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    kit.case("what is rolled back leaves no alias", nothing_is_left(kit))
        .await;
    kit.case("a joined effect under two definitions", joined(kit)).await;
    kit.case("by hand under either key", by_hand(kit)).await;
}

/// The build after the change: its key has one member more.
#[derive(Clone)]
struct Changed<const DATE_HAS_PASSED: bool>(Intent);

type Before = Changed<false>;
type After = Changed<true>;

impl<const PASSED: bool> IdempotentFields for Changed<PASSED> {
    fn tenant(&self) -> TenantSource<'_> {
        self.0.tenant()
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("kind", "new")?;
        self.0.key_members(out)
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        self.0.payload_members(out)
    }

    fn once_per(&self, out: &mut Members<'_>) -> Result<bool, CanonicalError> {
        IdempotentFields::once_per(&self.0, out)
    }
}

impl<const PASSED: bool> Idempotent for Changed<PASSED> {
    const PREVIOUS_UNTIL: Option<Timestamp> = Some(Timestamp::from_millis(if PASSED { 0 } else { i64::MAX }));

    fn action(&self) -> &str {
        self.0.action()
    }

    fn previous(&self, tenant: Option<&Tenant>) -> Result<Option<Derived>, KeyError> {
        derive(&self.0, tenant).map(Some)
    }
}

impl<const PASSED: bool> TenantKnown<FromType> for Changed<PASSED> {}

async fn act<S, W, I>(kit: &Kit<S, W>, input: &I) -> Result<Done<u32>, Error>
where
    S: Store + Clone,
    W: Way<S>,
    I: Idempotent + TenantKnown<FromType>,
{
    kit.finish(kit.idem.call(input), Effect::Succeeds).await
}

/// What an outside effect is told, and under which key the downstream saw it.
async fn send<S, W, I>(
    kit: &Kit<S, W>,
    input: &I,
    answer: Result<u32, EffectError>,
) -> (Result<Done<u32>, Error>, String)
where
    S: Store + Clone,
    W: Way<S>,
    I: Idempotent + TenantKnown<FromType>,
{
    let seen = Arc::new(std::sync::Mutex::new(String::new()));
    let told = Arc::clone(&seen);
    let done = kit
        .idem
        .call(input)
        .run(RERUN, async move |effect: crate::execute::Effect| {
            *told.lock().expect("nobody panics") = format!("{} {}", effect.downstream_key(), effect.attempt());
            answer
        })
        .await;
    let seen = seen.lock().expect("nobody panics").clone();
    (done, seen)
}

/// What stands under the key that the changed build makes.
async fn under_new<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent) -> View {
    let key = derive(&Changed::<true>(intent.clone()), None).expect("a key").key;
    kit.store.view(&key, None).await.expect("it can be read")
}

fn old_downstream_key(intent: &Intent) -> String {
    derive(intent, None).expect("a key").key.downstream_key(1).to_string()
}

async fn one_effect<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    // Whichever build has it, each finds it from then on.
    let intent = Intent::new("first of the changed build");
    let before = Changed::<false>(intent.clone());
    assert_eq!(act(kit, &before).await.expect("it runs"), Done::Executed(7));
    assert_eq!(under_new(kit, &intent).await.alias(), Some(kit.key(&intent)));
    replays(kit, &intent).await;
    assert_eq!(kit.ran(), 1);

    let intent = Intent::new("first of the former build");
    assert_eq!(act(kit, &intent).await.expect("it runs"), Done::Executed(7));
    assert_eq!(
        act(kit, &Changed::<false>(intent.clone())).await.expect("recorded"),
        Done::Replayed(7)
    );
    assert_eq!(kit.ran(), 1);

    let intent = Intent::new("after the date");
    let after = Changed::<true>(intent.clone());
    assert_eq!(act(kit, &after).await.expect("it runs"), Done::Executed(7));
    assert_eq!(
        act(kit, &Changed::<false>(intent.clone()))
            .await
            .expect("a clock that is behind"),
        Done::Replayed(7)
    );
    assert!(
        kit.view(&intent).await.record.is_none(),
        "what was claimed beside it is undone"
    );
    assert_eq!(kit.ran(), 1);

    let intent = Intent::new("another payload");
    act(kit, &Changed::<false>(intent.clone())).await.expect("it runs");
    let other = intent.amount(2);
    assert_eq!(kind(act(kit, &other).await), ErrorKind::Mismatch);
    assert_eq!(
        kind(act(kit, &Changed::<false>(other.clone())).await),
        ErrorKind::Mismatch
    );
    assert_eq!(kind(act(kit, &Changed::<true>(other)).await), ErrorKind::Mismatch);
    assert_eq!(kit.ran(), 1);
}

async fn replays<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>, intent: &Intent) {
    assert_eq!(act(kit, intent).await.expect("recorded"), Done::Replayed(7));
    let before = Changed::<false>(intent.clone());
    assert_eq!(act(kit, &before).await.expect("recorded"), Done::Replayed(7));
    let after = Changed::<true>(intent.clone());
    assert_eq!(act(kit, &after).await.expect("it follows the alias"), Done::Replayed(7));
}

async fn one_outside_effect<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let intent = Intent::new("sent by the changed build");
    let (done, seen) = send(kit, &Changed::<false>(intent.clone()), Ok(7)).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    assert_eq!(seen, format!("{} 1", old_downstream_key(&intent)));
    replays(kit, &intent).await;
    let (done, seen) = send(kit, &Changed::<true>(intent.clone()), Ok(8)).await;
    assert_eq!((done.expect("recorded"), seen.as_str()), (Done::Replayed(7), ""));

    let intent = Intent::new("sent after the date");
    let after = Changed::<true>(intent.clone());
    let (done, seen) = send(kit, &after, Ok(7)).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    assert_ne!(seen, format!("{} 1", old_downstream_key(&intent)));
    let (done, seen) = send(kit, &Changed::<false>(intent.clone()), Ok(8)).await;
    assert_eq!((done.expect("recorded"), seen.as_str()), (Done::Replayed(7), ""));
    assert_eq!(kit.ran(), 0);
}

/// The downstream is asked under one key, whichever build asks.
async fn a_takeover<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    let silence = || Err(EffectError::from(std::fmt::Error));
    let intent = Intent::new("takeover");
    let key = old_downstream_key(&intent);
    let (_, first) = send(kit, &intent, silence()).await;
    let (_, second) = send(kit, &Changed::<false>(intent.clone()), silence()).await;
    let (_, third) = send(kit, &Changed::<true>(intent.clone()), silence()).await;
    let (done, fourth) = send(kit, &intent, Ok(7)).await;
    let each: Vec<_> = (1..=4).map(|attempt| format!("{key} {attempt}")).collect();
    assert_eq!([first, second, third, fourth], each.as_slice());
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    replays(kit, &intent).await;

    // What is known not to have happened runs again, and stays where it was begun.
    let intent = Intent::new("nothing happened");
    let nothing = || Err(EffectError::nothing_happened(std::fmt::Error));
    let (_, first) = send(kit, &Changed::<false>(intent.clone()), nothing()).await;
    let other = intent.amount(2);
    let (done, second) = send(kit, &Changed::<true>(other.clone()), Ok(7)).await;
    let key = old_downstream_key(&intent);
    assert_eq!([first, second], [format!("{key} 1"), format!("{key} 2")]);
    assert_eq!(done.expect("a failed attempt binds no payload"), Done::Executed(7));
    replays(kit, &other).await;
    assert_eq!(kit.ran(), 0);
}

async fn nothing_is_left<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("fails");
    let before = Changed::<false>(intent.clone());
    let failing = async |_: &mut S::Connection| Err::<u32, _>(EffectError::from(super::Failed));
    let failed = kit.idem.call(&before).transaction(failing).await;
    assert_eq!(kind(failed), ErrorKind::Effect);
    let view = under_new(kit, &intent).await;
    assert!(view.record.is_none() && view.ledger.own.is_none() && view.alias().is_none());
    let declining = async |_: &mut S::Connection| Err::<u32, _>(EffectError::final_("no"));
    let declined = kit.idem.call(&before).transaction(declining).await;
    assert_eq!(kind(declined), ErrorKind::Declined);
    assert_eq!(kind(act(kit, &intent).await), ErrorKind::Declined);
    assert_eq!(kind(act(kit, &Changed::<true>(intent)).await), ErrorKind::Declined);
    assert_eq!(kit.ran(), 0);
}

async fn joined<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let effect = async |_: &mut S::Connection| {
        kit.calls.add();
        Ok(7)
    };
    let intent = Intent::new("joined");
    let tenant = Tenant::parse(&intent.tenant).expect("a tenant");
    let (before, after) = (Changed::<false>(intent.clone()), Changed::<true>(intent.clone()));
    let mut transaction = kit.store.begin(&tenant).await.expect("a transaction");
    let first = kit.idem.call(&before).join(transaction.as_mut(), effect).await;
    assert_eq!(first.expect("it runs"), Done::Executed(7));
    let again = kit.idem.call(&after).join(transaction.as_mut(), effect).await;
    assert_eq!(again.expect("it follows the alias"), Done::Replayed(7));
    let again = kit.idem.call(&intent).join(transaction.as_mut(), effect).await;
    assert_eq!(again.expect("recorded"), Done::Replayed(7));
    kit.store.commit(transaction).await.expect("a commit");
    replays(kit, &intent).await;

    let intent = intent.case("joined after the date");
    act(kit, &Changed::<true>(intent.clone())).await.expect("it runs");
    let mut transaction = kit.store.begin(&tenant).await.expect("a transaction");
    let behind = Changed::<false>(intent.clone());
    let again = kit.idem.call(&behind).join(transaction.as_mut(), effect).await;
    assert_eq!(again.expect("a clock that is behind"), Done::Replayed(7));
    kit.store.commit(transaction).await.expect("a commit");
    assert!(
        kit.view(&intent).await.record.is_none(),
        "what was claimed beside it is undone"
    );
    assert_eq!(kit.ran(), 2);
}

async fn an_alias_outlives<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    let intent = Intent::new("expires");
    let before = Changed::<false>(intent.clone());
    let short = kit.idem.call(&before).retention(retention());
    kit.finish(short, Effect::Succeeds).await.expect("it runs");
    wait_for_expiry().await;
    for purged in [false, true] {
        for result in [
            act(kit, &intent).await,
            act(kit, &before).await,
            act(kit, &Changed::<true>(intent.clone())).await,
        ] {
            assert_eq!(kind(result), ErrorKind::AlreadyExecuted, "purged: {purged}");
        }
        kit.idem.purge_expired(1000).await.expect("a purge");
    }
    assert_eq!(kit.ran(), 1);

    // A final error that has expired is forgotten, and what is asked for then stays where it was begun.
    let intent = Intent::new("a final error");
    let before = Changed::<false>(intent.clone());
    let short = kit.idem.call(&before).retention(retention());
    assert_eq!(kind(kit.finish(short, Effect::Declines).await), ErrorKind::Declined);
    wait_for_expiry().await;
    kit.idem.purge_expired(1000).await.expect("a purge");
    let after = Changed::<true>(intent.clone());
    assert_eq!(
        act(kit, &after).await.expect("it follows what the ledger says"),
        Done::Executed(7)
    );
    replays(kit, &intent).await;
    assert_eq!(kit.ran(), 2);
}

async fn by_hand<S: TransactionalStore + Clone>(kit: &Kit<S>) {
    let intent = Intent::new("by hand");
    let (before, after) = (Changed::<false>(intent.clone()), Changed::<true>(intent.clone()));
    act(kit, &before).await.expect("it runs");
    let new = derive(&after, None).expect("a key").key;
    let peeked = kit.idem.peek(&new).await.expect("it can be read").record;
    assert_eq!(peeked.map(|record| record.status), Some(Status::Completed));
    kit.idem
        .by_hand("ada", "wrong card")
        .revoke(&new, 1)
        .await
        .expect("it stands");
    assert_eq!(kind(act(kit, &intent).await), ErrorKind::Revoked);
    assert_eq!(kind(act(kit, &after).await), ErrorKind::Revoked);
    let tenant = Tenant::parse(&intent.tenant).expect("a tenant");
    let mut transaction = kit.store.begin(&tenant).await.expect("a transaction");
    let again = kit.idem.by_hand("ada", "the right card");
    again
        .reopen_in(transaction.as_mut(), &new, 1)
        .await
        .expect("it is revoked");
    kit.store.commit(transaction).await.expect("a commit");
    assert_eq!(act(kit, &after).await.expect("once more"), Done::Executed(7));
    replays(kit, &intent).await;
    assert_eq!(kit.ran(), 2);
}

async fn a_place<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    if !kit.store.capabilities().ledger {
        return;
    }
    let intent = Intent::new("holds").once_per("the place");
    act(kit, &Changed::<false>(intent.clone())).await.expect("it runs");
    let other = intent.case("asks");
    assert_eq!(kind(act(kit, &other).await), ErrorKind::AlreadyExecuted);
    assert_eq!(
        kind(act(kit, &Changed::<false>(other.clone())).await),
        ErrorKind::AlreadyExecuted
    );
    assert_eq!(
        kind(act(kit, &Changed::<true>(other.clone())).await),
        ErrorKind::AlreadyExecuted
    );
    assert!(under_new(kit, &other).await.alias().is_none(), "nothing was claimed");
    assert_eq!(kit.ran(), 1);
}

/// A build that has lost the previous definition, or changed it.
async fn a_foreign_alias<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    #[derive(Clone)]
    struct Forgetful(After);
    impl IdempotentFields for Forgetful {
        fn tenant(&self) -> TenantSource<'_> {
            self.0.tenant()
        }
        fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
            self.0.key_members(out)
        }
        fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
            self.0.payload_members(out)
        }
    }
    impl Idempotent for Forgetful {
        fn action(&self) -> &str {
            self.0.action()
        }
    }
    impl TenantKnown<FromType> for Forgetful {}

    let intent = Intent::new("forgotten");
    act(kit, &Before::from(&intent)).await.expect("it runs");
    let error = act(kit, &Forgetful(Changed(intent.clone())))
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    let message = error.to_string();
    assert!(
        message.contains(kit.key(&intent).as_str()) && message.contains("previous"),
        "{message}"
    );
    assert_eq!(kit.ran(), 1);
}

impl<const PASSED: bool> From<&Intent> for Changed<PASSED> {
    fn from(intent: &Intent) -> Self {
        Self(intent.clone())
    }
}

/// The former build and the changed one before the date; then the changed one whose clocks disagree on whether the date
/// has passed.
async fn at_the_same_time<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    for round in 0..4 {
        let intent = Intent::new("race");
        let local = LocalSet::new();
        let tasks: Vec<_> = (0..12)
            .map(|number| {
                let kit = kit.with(Settings::default().wait(Duration::from_secs(30)));
                let intent = intent.clone();
                local.spawn_local(async move {
                    match (number % 2, round % 2) {
                        (0, _) => act(&kit, &Before::from(&intent)).await,
                        (_, 0) => act(&kit, &intent).await,
                        (_, _) => act(&kit, &After::from(&intent)).await,
                    }
                })
            })
            .collect();
        local.await;
        for task in tasks {
            let done = task.await.expect("no panic").expect("each gets the one result");
            assert_eq!(done.into_inner(), 7);
        }
        assert_eq!(kit.ran(), 1, "round {round}");
    }
}
