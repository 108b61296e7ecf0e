//! Random sequences of calls and changes by hand, through the executor, against a [`model`] of what each is told.

mod model;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use idem::{
    Begun, Done, EffectError, Error, ErrorKind, Idem, Leased, PgStore, Settings, SqliteStore, TransactionalStore,
};
use idem_core::testing::Intent;
use idem_core::{AttemptId, IdempotencyKey, MemoryStore, PlaceDigest, Resolution, derive};
use idem_system_tests::postgres;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use tokio::runtime::Runtime;

use crate::stage::LONG;
use model::{Act, Answer, Comes, How, Key, Model, Recovery, Seen, Sight, wants_place};

#[test]
fn memory_does_what_the_model_says() {
    let runtime = runtime();
    // Its ledger is a list that is read to its end, so each sequence has one of its own.
    play(&runtime, MemoryStore::new, 4000);
}

#[test]
fn sqlite_does_what_the_model_says() {
    let runtime = runtime();
    let store = runtime.block_on(SqliteStore::connect("sqlite::memory:"));
    let store = store.expect("opened");
    play(&runtime, || store.clone(), 300);
}

#[test]
fn postgres_does_what_the_model_says() {
    let (database, runtime) = (postgres(), runtime());
    let store = runtime.block_on(async { PgStore::new(database.pool(4).await).migrate().await });
    let store = store.expect("migrated");
    play(&runtime, || store.clone(), 60);
}

/// Plays random sequences; the shortest that differs from the model is told.
fn play<S: Ledger>(runtime: &Runtime, store: impl Fn() -> S, cases: u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let played = TestRunner::new(config).run(&prop::collection::vec(act(), 1..16), |acts| {
        runtime.block_on(Stage::new(&store()).play(&acts))
    });
    match played {
        Ok(()) => {}
        Err(TestError::Fail(reason, acts)) => panic!("{reason}\nafter\n{acts:#?}"),
        Err(aborted) => panic!("{aborted}"),
    }
}

fn act() -> impl Strategy<Value = Act> {
    let key = || prop::sample::select(vec![Key::A, Key::B, Key::C]);
    let amount = || prop_oneof![4 => Just(1), 1 => Just(2)];
    let seen = || prop_oneof![4 => Just(Seen::Current), 1 => Just(Seen::Another)];
    let leased = || prop::sample::select(vec![How::Leased(Recovery::Rerun), How::Leased(Recovery::Hold)]);
    let how = move || prop_oneof![Just(How::Transaction), leased()];
    let comes = prop::sample::select(vec![
        Comes::Succeeds,
        Comes::Fails,
        Comes::NothingHappened,
        Comes::Declines,
        Comes::Panics,
    ]);
    let call = (key(), amount(), how(), any::<bool>(), comes).prop_map(|(key, amount, how, probe, comes)| Act::Call {
        key,
        amount,
        how,
        probe,
        comes,
    });
    let guard = (key(), amount(), how(), any::<bool>()).prop_map(|(key, amount, how, completed)| Act::Guard {
        key,
        amount,
        how,
        completed,
    });
    let resolve =
        (key(), seen(), any::<bool>()).prop_map(|(key, attempt, happened)| Act::Resolve { key, attempt, happened });
    let revoke = (key(), seen()).prop_map(|(key, generation)| Act::Revoke { key, generation });
    let reopen = (key(), seen()).prop_map(|(key, generation)| Act::Reopen { key, generation });
    prop_oneof![8 => call, 2 => guard, 2 => resolve, 3 => revoke, 3 => reopen, 1 => Just(Act::Purge)]
}

/// A store whose ledger can be counted from outside.
trait Ledger: TransactionalStore + Clone {
    async fn executed(&self, key: &IdempotencyKey) -> usize;
}

impl Ledger for MemoryStore {
    async fn executed(&self, key: &IdempotencyKey) -> usize {
        let executed = |entry: &&idem_core::Entry| entry.key == *key && entry.kind.as_str() == "executed";
        self.entries().iter().filter(executed).count()
    }
}

macro_rules! counted_by_sql {
    ($($store:ty),+) => {$(
        impl Ledger for $store {
            async fn executed(&self, key: &IdempotencyKey) -> usize {
                let count: i64 = sqlx::query_scalar(EXECUTED)
                    .bind(key.tenant().as_str())
                    .bind(key.as_str())
                    .fetch_one(self.pool())
                    .await
                    .expect(EXECUTED);
                usize::try_from(count).expect("a count")
            }
        }
    )+};
}

counted_by_sql!(PgStore, SqliteStore);

const EXECUTED: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'executed' AND tenant = $1 AND idem_key = $2";

/// One sequence on a store, in a tenant of its own.
struct Stage<S> {
    idem: Idem<S>,
    probing: Idem<S>,
    base: Intent,
    ran: [Arc<AtomicUsize>; 3],
}

impl<S: Ledger> Stage<S> {
    fn new(store: &S) -> Self {
        // What a dropped transaction leaves is rolled back behind our back.
        let settings = Settings::default().wait(LONG);
        let front = |settings| Idem::with_settings(store.clone(), settings).expect("settings agree");
        Self {
            idem: front(settings.clone()),
            probing: front(settings.probe(true)),
            base: Intent::new("base"),
            ran: Default::default(),
        }
    }

    async fn play(&self, acts: &[Act]) -> Result<(), TestCaseError> {
        let mut model = Model::default();
        for (number, act) in (1..).zip(acts) {
            let found = self.act(act, number, &model).await;
            let expected = model.act(act, number);
            prop_assert_eq!(found, expected, "what act {} was told: {:?}", number, act);
            prop_assert_eq!(self.sight().await, model.sight(), "what act {} left: {:?}", number, act);
        }
        Ok(())
    }

    async fn act(&self, act: &Act, number: u32, model: &Model) -> Answer {
        match *act {
            Act::Call {
                key,
                amount,
                how,
                probe,
                comes,
            } => {
                let idem = if probe { &self.probing } else { &self.idem };
                let intent = self.intent(key, amount);
                let ran = Arc::clone(&self.ran[key as usize]);
                let effect = move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                    match comes {
                        Comes::Succeeds => Ok(number),
                        Comes::Fails => Err(EffectError::from(std::fmt::Error)),
                        Comes::NothingHappened => Err(EffectError::nothing_happened("refused")),
                        Comes::Declines => Err(EffectError::final_(&number)),
                        // As a panic unwinds, without its message.
                        Comes::Panics => resume_unwind(Box::new("in an effect")),
                    }
                };
                let done = match how {
                    How::Transaction => {
                        let transaction = idem.transaction(&intent, async |_: &mut S::Connection| effect());
                        match caught(transaction).await {
                            Some(done) => done,
                            None => return Answer::Panicked,
                        }
                    }
                    How::Leased(recovery) => idem.run(&intent, real(recovery), async move |_| effect()).await,
                };
                self.told(done)
            }
            Act::Guard {
                key,
                amount,
                how,
                completed,
            } => {
                let intent = self.intent(key, amount);
                let had = || {
                    self.ran[key as usize].fetch_add(1, Ordering::SeqCst);
                    number
                };
                let call = self.idem.call(&intent);
                let done = match how {
                    How::Transaction => match call.begin::<u32>().await {
                        Ok(Begun::Execute(guard)) if completed => guard.complete(had()).await,
                        Ok(Begun::Execute(_)) => return Answer::Dropped,
                        Ok(Begun::Replayed(value)) => Ok(Done::Replayed(value)),
                        Err(error) => Err(error),
                    },
                    How::Leased(recovery) => match call.lease::<u32>(real(recovery)).await {
                        Ok(Leased::Execute(guard)) if completed => guard.complete(had()).await,
                        Ok(Leased::Execute(guard)) => {
                            drop(guard);
                            assert_eq!(self.idem.drain(LONG).await, 0, "it says that it was dropped");
                            return Answer::Dropped;
                        }
                        Ok(Leased::Replayed(value)) => Ok(Done::Replayed(value)),
                        Err(error) => Err(error),
                    },
                };
                self.told(done)
            }
            Act::Resolve { key, attempt, happened } => {
                let name = self.key(key);
                let view = self.idem.peek(&name).await.expect("it can be read");
                let current = view.record.map_or(NO_ATTEMPT, |record| record.attempt_id());
                let named = match attempt {
                    Seen::Current => current,
                    Seen::Another => AttemptId {
                        attempt: another(current.attempt),
                        ..current
                    },
                };
                let resolution = match happened {
                    true => Resolution::Happened(number),
                    false => Resolution::DidNotHappen,
                };
                self.changed(self.by_hand().resolve(&name, named, resolution).await)
            }
            Act::Revoke { key, generation } => {
                let generation = named(model.generation(key), generation);
                self.changed(self.by_hand().revoke(&self.key(key), generation).await)
            }
            Act::Reopen { key, generation } => {
                let generation = named(model.generation(key), generation);
                self.changed(self.by_hand().reopen(&self.key(key), generation).await)
            }
            Act::Purge => Answer::Purged(self.idem.purge_expired(100).await.expect("a purge")),
        }
    }

    fn told(&self, done: Result<Done<u32>, Error>) -> Answer {
        match done {
            Ok(Done::Executed(value)) => Answer::Executed(value),
            Ok(Done::Replayed(value)) => Answer::Replayed(value),
            Err(error) => self.refused(&error),
        }
    }

    fn changed(&self, changed: Result<(), Error>) -> Answer {
        changed.map_or_else(|error| self.refused(&error), |()| Answer::Done)
    }

    fn refused(&self, error: &Error) -> Answer {
        match (error.kind(), error.entry(), error.declined()) {
            (ErrorKind::Declined, _, Some(number)) => Answer::Declined(number),
            (ErrorKind::AlreadyExecuted, Some(entry), _) => {
                let holder = KEYS.into_iter().find(|key| self.key(*key).as_str() == entry.key);
                Answer::Taken(holder.expect("a key of this tenant"))
            }
            (kind, ..) => Answer::Refused(kind),
        }
    }

    /// What is to be seen from outside.
    async fn sight(&self) -> Sight {
        let (mut executed, mut records) = ([0; 3], [None; 3]);
        for key in KEYS {
            let name = self.key(key);
            executed[key as usize] = self.idem.store().executed(&name).await;
            let view = self.idem.peek(&name).await.expect("it can be read");
            records[key as usize] = view.record.map(|record| (record.status, record.generation));
        }
        // Asked in the name of a key that never held it.
        let view = self.idem.store().view(&self.key(Key::C), Some(&self.place())).await;
        let holder = view.expect("it can be read").ledger.place;
        Sight {
            ran: self.ran.each_ref().map(|ran| ran.load(Ordering::SeqCst)),
            executed,
            records,
            holder: holder.map(|holder| {
                let holds = |key: &Key| self.key(*key).as_str() == holder.key;
                KEYS.into_iter().find(holds).expect("a key of this tenant")
            }),
        }
    }

    fn by_hand(&self) -> idem_core::ByHand<'_, S> {
        self.idem.by_hand("ada", "looked into it")
    }

    fn intent(&self, key: Key, amount: u32) -> Intent {
        let intent = self.base.case(&format!("{key:?}")).amount(amount);
        if wants_place(key) { intent.once_per("p") } else { intent }
    }

    fn key(&self, key: Key) -> IdempotencyKey {
        derive(&self.intent(key, 1), None).expect("a key").key
    }

    fn place(&self) -> PlaceDigest {
        let derived = derive(&self.intent(Key::A, 1), None).expect("a key");
        *derived.place.expect("it asks for one").digest()
    }
}

/// The value of a future, unless it panics.
async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    std::future::poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        },
    )
    .await
}

fn named(generation: u32, seen: Seen) -> u32 {
    match seen {
        Seen::Current => generation,
        Seen::Another => another(generation),
    }
}

fn another(number: u32) -> u32 {
    if number > 1 { number - 1 } else { number + 1 }
}

fn real(recovery: Recovery) -> idem::Recovery {
    match recovery {
        Recovery::Hold => idem::Recovery::Hold,
        Recovery::Rerun => idem::Recovery::Rerun {
            remembered_for: Duration::from_secs(24 * 60 * 60),
        },
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

const KEYS: [Key; 3] = [Key::A, Key::B, Key::C];

/// Named where there is no record to look at.
const NO_ATTEMPT: AttemptId = AttemptId {
    generation: 1,
    attempt: 1,
    since: idem_core::Timestamp::from_millis(0),
};
