mod leased;
#[cfg(feature = "metrics")]
mod metrics;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::codec::{CodecContext, CodecError, Encoded, OutcomeCodec};
use crate::error::{Error, ErrorKind};
use crate::execute::{Begun, Done, EffectError, Idem, Settings};
use crate::store::{MemoryConnection, MemoryStore};
use crate::testing::Intent;

/// Writes down what it is told.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, line: String) {
        self.0.lock().expect("not poisoned").push(line);
    }

    /// What was told since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

impl Observer for Notes {
    fn claimed(&self, call: &CallClaimed<'_>) {
        self.note(format!("{} claimed {}", call.action, call.attempt));
    }

    fn concluded(&self, call: &CallConcluded<'_>) {
        let attempt = call.attempt.map_or(String::new(), |attempt| format!(" {attempt}"));
        assert!(call.waited.is_none_or(|waited| waited <= call.duration), "{call:?}");
        let waited = call.waited.map_or("", |_| " after a wait");
        self.note(format!("{} {}{attempt}{waited}", call.action, call.conclusion.as_str()));
    }

    fn unknown(&self, count: u64, oldest: Option<Duration>) {
        self.note(format!("unknown {count} {}", oldest.is_some()));
    }

    fn purged(&self, count: u64) {
        self.note(format!("purged {count}"));
    }
}

fn observed() -> (Idem<MemoryStore>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let settings = Settings::default().observer(notes.clone());
    (
        Idem::with_settings(MemoryStore::new(), settings).expect("settings agree"),
        notes,
    )
}

fn seven() -> impl AsyncFnOnce(&mut MemoryConnection) -> Result<u32, EffectError> + Clone + Send + 'static {
    async |_: &mut MemoryConnection| Ok(7)
}

async fn begin(idem: &Idem<MemoryStore>, intent: &Intent) -> crate::execute::Guard<MemoryStore, u32> {
    match idem.call(intent).begin().await.expect("a claim") {
        Begun::Execute(guard) => guard,
        Begun::Replayed(_) => panic!("nothing is recorded yet"),
    }
}

#[tokio::test]
async fn each_call_is_concluded_once_with_what_it_came_to() {
    let (idem, notes) = observed();
    let intent = Intent::new("a");
    idem.transaction(&intent, seven()).await.expect("it runs");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act executed 1"]);
    idem.transaction(&intent, seven()).await.expect("it replays");
    assert_eq!(notes.take(), ["kit.act replayed"]);
    idem.transaction(&intent.amount(2), seven())
        .await
        .expect_err("another payload");
    assert_eq!(notes.take(), ["kit.act mismatch"]);
    let key = idem.call(&intent).key().expect("a key");
    idem.by_hand("ada", "wrong").revoke(&key, 1).await.expect("revoked");
    idem.transaction(&intent, seven()).await.expect_err("revoked");
    assert_eq!(notes.take(), ["kit.act revoked"]);

    let declines = async |_: &mut MemoryConnection| Err::<u32, _>(EffectError::final_("no"));
    let other = intent.case("b");
    idem.transaction(&other, declines).await.expect_err("declined");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act declined 1"]);
    idem.call(&other)
        .transaction_once(seven())
        .await
        .expect_err("declined before");
    assert_eq!(notes.take(), ["kit.act declined"]);

    let fails = async |_: &mut MemoryConnection| Err::<u32, _>(EffectError::new("no"));
    let other = intent.case("c");
    idem.transaction(&other, fails).await.expect_err("it failed");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act failed 1"]);

    // Within another call, which is told apart.
    idem.call(&intent.case("outer"))
        .transaction_once(async |tx: &mut MemoryConnection| {
            let joined = idem.call(&other).join(tx, seven()).await;
            joined.map(Done::into_inner).map_err(EffectError::from)
        })
        .await
        .expect("it runs");
    assert_eq!(
        notes.take(),
        [
            "kit.act claimed 1",
            "kit.act claimed 1",
            "kit.act executed 1",
            "kit.act executed 1"
        ]
    );
}

#[tokio::test]
async fn a_call_that_asks_again_and_again_is_concluded_once() {
    let (idem, notes) = observed();
    let intent = Intent::new("waits");
    let guard = begin(&idem, &intent).await;
    let error = idem.transaction(&intent, seven()).await.expect_err("it runs");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    let error = idem.call(&intent).begin::<u32>().await.err().expect("it runs");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    assert_eq!(
        notes.take(),
        ["kit.act claimed 1", "kit.act in_flight", "kit.act in_flight"]
    );

    let soon = Duration::from_millis(60);
    let error = idem
        .call(&intent)
        .wait(soon)
        .begin::<u32>()
        .await
        .err()
        .expect("it runs");
    assert_eq!(error.kind(), ErrorKind::InFlight);
    assert_eq!(notes.take(), ["kit.act in_flight after a wait"]);

    let long = Duration::from_secs(30);
    let waiting = async { idem.call(&intent).wait(long).transaction(seven()).await };
    let beginning = async { idem.call(&intent).wait(long).begin::<u32>().await };
    let completing = async {
        // Longer than the pauses between two looks, so that each of them looks several times.
        tokio::time::sleep(Duration::from_millis(100)).await;
        guard.complete(7).await
    };
    let (waited, begun, completed) = tokio::join!(waiting, beginning, completing);
    assert_eq!(waited.expect("it replays"), Done::Replayed(7));
    assert!(matches!(begun.expect("it replays"), Begun::Replayed(7)));
    completed.expect("it is recorded");
    assert_eq!(
        notes.take(),
        [
            "kit.act executed 1",
            "kit.act waited after a wait",
            "kit.act waited after a wait"
        ]
    );
}

#[tokio::test]
async fn what_is_dropped_is_concluded_as_well() {
    let (idem, notes) = observed();
    let intent = Intent::new("dropped");
    drop(begin(&idem, &intent).await);
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act failed 1"]);
    begin(&idem, &intent).await.roll_back().await.expect("rolled back");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act failed 1"]);
    begin(&idem, &intent).await.decline("no").await.expect_err("declined");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act declined 1"]);

    let never = async |_: &mut MemoryConnection| std::future::pending::<Result<u32, EffectError>>().await;
    let intent = intent.case("cancelled");
    let call = idem.call(&intent).transaction(never);
    tokio::time::timeout(Duration::from_millis(20), call)
        .await
        .expect_err("it never ends");
    assert_eq!(notes.take(), ["kit.act claimed 1", "kit.act failed 1"]);
}

#[tokio::test]
async fn a_storage_that_fails_is_told_from_an_effect_that_does() {
    #[derive(Debug)]
    struct Broken;
    impl OutcomeCodec for Broken {
        fn encode(&self, _: &CodecContext<'_>, _: Vec<u8>) -> Result<Encoded, CodecError> {
            Err(CodecError::new("the key store does not answer"))
        }

        fn decode(&self, _: &CodecContext<'_>, _: &str, _: &[u8]) -> Result<Vec<u8>, CodecError> {
            Err(CodecError::new("the key store does not answer"))
        }
    }
    let notes = Arc::new(Notes::default());
    let settings = Settings::default()
        .observer(notes.clone())
        .outcome_codec(Arc::new(Broken));
    let idem = Idem::with_settings(MemoryStore::new(), settings).expect("settings agree");
    let intent = Intent::new("a");
    let error = idem.transaction(&intent, seven()).await.expect_err("it cannot be kept");
    assert_eq!(error.kind(), ErrorKind::Store);
    let error = begin(&idem, &intent).await.complete(7).await.expect_err("nor this");
    assert_eq!(error.kind(), ErrorKind::Store);
    let told = ["kit.act claimed 1", "kit.act store_error 1"];
    assert_eq!(notes.take(), [told, told].concat());
}

#[tokio::test]
async fn an_observer_that_panics_changes_nothing() {
    #[derive(Debug)]
    struct Panics;
    impl Observer for Panics {
        fn claimed(&self, _: &CallClaimed<'_>) {
            panic!("at the claim");
        }

        fn concluded(&self, _: &CallConcluded<'_>) {
            panic!("at the end");
        }

        fn purged(&self, _: u64) {
            panic!("at the purge");
        }
    }
    let settings = Settings::default().observer(Arc::new(Panics));
    let idem = Idem::with_settings(MemoryStore::new(), settings).expect("settings agree");
    let intent = Intent::new("a");
    let done = idem.transaction(&intent, seven()).await;
    assert_eq!(done.expect("it runs"), Done::Executed(7));
    let done = idem.transaction(&intent, seven()).await;
    assert_eq!(done.expect("it replays"), Done::Replayed(7));
    // In a destructor, while another panic is under way.
    let task = {
        let (idem, intent) = (idem.clone(), intent.case("b"));
        tokio::spawn(async move {
            let effect = async |_: &mut MemoryConnection| -> Result<u32, EffectError> { panic!("in the effect") };
            idem.transaction(&intent, effect).await
        })
    };
    assert!(task.await.expect_err("it panicked").is_panic());
    idem.purge_expired(10).await.expect("purged");
    assert_eq!(idem.store().executed(), 1);
}

#[tokio::test]
async fn a_purge_is_told_with_what_it_removed() {
    let (idem, notes) = observed();
    let moment = Duration::from_millis(1);
    let intent = Intent::new("a");
    idem.call(&intent)
        .retention(moment)
        .transaction(seven())
        .await
        .expect("it runs");
    notes.take();
    tokio::time::sleep(2 * moment).await;
    idem.purge_expired(10).await.expect("purged");
    assert_eq!(notes.take(), ["purged 1"]);
}

#[tokio::test]
async fn what_no_key_can_be_made_of_is_told_to_nobody() {
    let (idem, notes) = observed();
    let mut intent = Intent::new("a");
    intent.tenant = "not a tenant".to_owned();
    let error: Error = idem.transaction(&intent, seven()).await.expect_err("no key");
    assert_eq!((error.kind(), notes.take().len()), (ErrorKind::InvalidKey, 0));
}
