use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;
use crate::error::ErrorKind;
use crate::key::{Tenant, TenantSource};
use crate::record::Recovery;
use crate::store::{MemoryConnection, MemoryStore, TransactionalStore as _};
use crate::testing::Intent;

fn seven() -> impl AsyncFnOnce(&mut MemoryConnection) -> Result<u32, EffectError> + Clone {
    async |_: &mut MemoryConnection| Ok(7)
}

#[tokio::test]
async fn a_retention_shorter_than_the_replay_window_is_refused_at_construction_and_at_the_call() {
    let hour = Duration::from_secs(3600);
    let settings = Settings::default().replay_window(2 * hour);
    let error = Idem::with_settings(MemoryStore::new(), settings.clone().retention(hour))
        .err()
        .expect("a contradiction");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert!(
        error.to_string().contains("3600s") && error.to_string().contains("7200s"),
        "{error}"
    );
    assert!(Idem::with_settings(MemoryStore::new(), settings.clone().retention(Duration::ZERO)).is_err());

    let idem = Idem::with_settings(MemoryStore::new(), settings).expect("the default retention is longer");
    let intent = Intent::new("short");
    let error = idem
        .call(&intent)
        .retention(hour)
        .transaction(seven())
        .await
        .expect_err("a contradiction");
    assert_eq!((error.kind(), idem.store().executed()), (ErrorKind::Misuse, 0));
    idem.call(&intent)
        .retention(Duration::MAX)
        .transaction(seven())
        .await
        .expect("as long as can be");
}

#[tokio::test]
async fn a_call_without_ledger_leaves_it_empty_whatever_comes_of_it() {
    let store = MemoryStore::new();
    let idem = Idem::new(store.clone());
    let intent = Intent::new("unledgered");
    fn unledgered<'a>(idem: &'a Idem<MemoryStore>, intent: &'a Intent) -> Call<'a, MemoryStore, Intent> {
        idem.call(intent).without_ledger()
    }
    let declines = async |_: &mut MemoryConnection| Err::<u32, _>(EffectError::final_("no"));
    let told = |result: Result<Done<u32>, Error>| result.expect_err("refused").kind();

    let done = unledgered(&idem, &intent).transaction(seven()).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    let changed = intent.amount(2);
    assert_eq!(
        told(unledgered(&idem, &changed).transaction(seven()).await),
        ErrorKind::Mismatch
    );
    let declined = intent.case("declined");
    assert_eq!(
        told(unledgered(&idem, &declined).transaction(declines).await),
        ErrorKind::Declined
    );

    let mut transaction = store
        .begin(&Tenant::parse(&intent.tenant).expect("a tenant"))
        .await
        .expect("open");
    let connection = transaction.as_mut();
    assert_eq!(
        told(unledgered(&idem, &changed).join(connection, seven()).await),
        ErrorKind::Mismatch
    );
    let joined = intent.case("joined");
    let done = unledgered(&idem, &joined).join(connection, seven()).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    store.commit(transaction).await.expect("a commit");

    for (case, error) in [
        ("released", EffectError::nothing_happened("no")),
        ("held", EffectError::from(std::io::Error::other("who knows"))),
        ("final", EffectError::final_("no")),
    ] {
        let leased = intent.case(case);
        let run = unledgered(&idem, &leased).run(Recovery::Hold, async move |_| Err::<u32, _>(error));
        run.await.expect_err("it failed");
    }
    let leased = intent.case("leased");
    let done = unledgered(&idem, &leased).run(Recovery::Hold, async |_| Ok(7)).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    assert_eq!(
        told(
            unledgered(&idem, &leased.amount(2))
                .run(Recovery::Hold, async |_| Ok(7))
                .await
        ),
        ErrorKind::Mismatch
    );

    assert!(store.entries().is_empty(), "{:?}", store.entries());
}

#[tokio::test]
async fn a_tenant_of_the_call_must_be_that_of_the_input() {
    let idem = Idem::new(MemoryStore::new());
    let intent = Intent::new("tenant");
    let other = Tenant::parse("other").expect("a tenant");
    let error = idem
        .call(&intent)
        .tenant(&other)
        .transaction(seven())
        .await
        .expect_err("two tenants");
    assert_eq!(error.kind(), ErrorKind::InvalidKey);
    assert!(matches!(intent.tenant(), TenantSource::Field { .. }));
    let own = Tenant::parse(&intent.tenant).expect("a tenant");
    idem.call(&intent)
        .tenant(&own)
        .transaction(seven())
        .await
        .expect("one tenant");
}

#[tokio::test]
async fn waiting_does_not_use_up_an_effect_that_runs_once() {
    let idem = Idem::new(MemoryStore::new());
    let intent = Intent::new("once");
    let Begun::Execute(guard) = idem.call(&intent).begin::<u32>().await.expect("a claim") else {
        panic!("nothing is recorded yet");
    };
    let value = String::from("moved into the effect");
    let waiting =
        idem.call(&intent)
            .wait(Duration::from_secs(10))
            .transaction_once(async move |_: &mut MemoryConnection| {
                drop(value);
                Ok(9)
            });
    let release = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(guard);
    };
    let (done, ()) = tokio::join!(waiting, release);
    assert_eq!(done.expect("it runs when the guard is gone"), Done::Executed(9));
}

#[tokio::test]
async fn a_panic_in_an_effect_leaves_nothing_behind() {
    let idem = Idem::new(MemoryStore::new());
    let intent = Intent::new("panic");
    let task = {
        let (idem, intent) = (idem.clone(), intent.clone());
        tokio::spawn(async move {
            let effect = async |_: &mut MemoryConnection| -> Result<u32, EffectError> { panic!("in the effect") };
            idem.call(&intent).transaction(effect).await
        })
    };
    assert!(task.await.expect_err("it panicked").is_panic());
    assert_eq!(
        idem.call(&intent).transaction(seven()).await.expect("it runs"),
        Done::Executed(7)
    );
}

#[tokio::test]
async fn the_span_of_a_call_tells_its_outcome_and_never_the_whole_key() {
    let idem = Idem::new(MemoryStore::new());
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    // Spans and events are registered by the first thread that comes to them. One of another test, without a subscriber, would have
    // them ignored here, if it is at it at this very moment.
    let heard = |what: &str| seen.0.lock().expect("not poisoned").iter().any(|field| field == what);
    while !(heard("outcome=executed") && heard("point=committed")) {
        tracing::callsite::rebuild_interest_cache();
        let met = idem.call(&Intent::new("met")).transaction(seven()).await;
        met.expect("it runs");
    }
    seen.0.lock().expect("not poisoned").clear();
    let intent = Intent::new("secret-case");
    let key = idem.call(&intent).key().expect("a key");
    idem.call(&intent).transaction(seven()).await.expect("it runs");
    idem.call(&intent).transaction(seven()).await.expect("it replays");
    idem.call(&intent.amount(2))
        .transaction(seven())
        .await
        .expect_err("another payload");
    let Begun::Execute(guard) = idem
        .call(&intent.case("guarded"))
        .begin::<u32>()
        .await
        .expect("a claim")
    else {
        panic!("nothing is recorded yet");
    };
    drop(guard);
    let fails = async |_: Effect| Err::<u32, _>(EffectError::new("no answer"));
    let unknown = intent.case("secret-case, too");
    idem.run(&unknown, Recovery::Hold, fails).await.expect_err("unknown");
    let Leased::Execute(guard) = idem
        .call(&intent.case("leased"))
        .lease::<u32>(Recovery::Hold)
        .await
        .expect("a claim")
    else {
        panic!("nothing is recorded yet");
    };
    drop(guard);
    idem.drain(Duration::from_secs(10)).await;
    let seen = seen.0.lock().expect("not poisoned").clone();
    let concluded = seen.iter().filter(|field| field.starts_with("outcome=")).count();
    assert_eq!(concluded, 6, "each call once: {seen:?}");
    for expected in [
        "outcome=executed",
        "outcome=failed",
        "outcome=unknown",
        "attempt=1",
        "outcome=replayed",
        "outcome=mismatch",
        "action=kit.act",
        "point=committed",
    ] {
        assert!(seen.iter().any(|field| field == expected), "{expected} in {seen:?}");
    }
    assert!(seen.iter().any(|field| *field == format!("key={}", key.short())));
    for key in seen.iter().filter_map(|field| field.strip_prefix("key=")) {
        assert!(
            key.len() == 8 && key.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{key}"
        );
    }
    assert!(
        !seen
            .iter()
            .any(|field| field.contains(&intent.tenant) || field.contains("secret-case")),
        "{seen:?}"
    );
}

/// On several threads, since on one there is no moment between the end of an effect and of its claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_drained_finds_no_key_in_use() {
    let idem = Idem::new(MemoryStore::new());
    for _ in 0..2000 {
        let intent = Intent::new("drained");
        let (entered, has_entered) = tokio::sync::oneshot::channel();
        let caller = {
            let (idem, intent) = (idem.clone(), intent.clone());
            tokio::spawn(async move {
                let effect = async move |_: Effect| {
                    let _ = entered.send(());
                    tokio::task::yield_now().await;
                    Ok(7)
                };
                idem.run(&intent, Recovery::Hold, effect).await
            })
        };
        has_entered.await.expect("the effect runs");
        caller.abort();
        assert_eq!(idem.drain(Duration::from_secs(10)).await, 0);
        let again = idem.run(&intent, Recovery::Hold, async |_: Effect| Ok(8)).await;
        assert_eq!(again.expect("its key is free"), Done::Replayed(7));
    }
}

/// Writes down every field of every span and event.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0
            .lock()
            .expect("not poisoned")
            .push(format!("{}={value:?}", field.name()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0
            .lock()
            .expect("not poisoned")
            .push(format!("{}={value}", field.name()));
    }
}

impl Subscriber for Seen {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
