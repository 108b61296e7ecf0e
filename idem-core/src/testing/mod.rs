//! The conformance kit: one suite that every store runs.
//!
//! [`transactional_store`] drives a store through the executor and compares what it does with the
//! transition function. It needs no effect of its own: it counts how often the effect was called,
//! and reads records and ledger back through the store. It works in tenants of its own, so the store
//! may hold other records.
//!
//! # Examples
//!
//! ```
//! # async fn run() {
//! idem_core::testing::transactional_store(idem_core::MemoryStore::new()).await;
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run());
//! ```

mod basics;
mod by_hand;
mod clock;
mod concurrent;
mod expiry;
mod histories;
mod intent;
mod joined;
mod leased;
mod lost_lease;
mod parts;
mod previous;
mod purge;

pub use clock::{Clock, TestClock};
pub use histories::{histories, leased_histories};
pub use intent::Intent;

use std::cell::Cell;
use std::future::Future;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::execute::{Call, Done, EffectError, Idem, Resolution, Settings};
use crate::key::{FromType, IdempotencyKey};
use crate::state::AttemptId;
use crate::store::{TransactionalStore, View};

/// Runs every case of the kit on a store.
///
/// # Panics
///
/// At the first rule that the store breaks; the message names the case.
///
/// # Cancel safety
///
/// Dropping the future ends the suite; records of its tenants stay behind.
pub async fn transactional_store<S: TransactionalStore + Clone>(store: S) {
    let kit = Kit::new(store);
    basics::run(&kit).await;
    joined::run(&kit).await;
    expiry::run(&kit).await;
    concurrent::run(&kit).await;
    kit.case("random histories", async {
        histories::play(&kit.store, &histories::Abilities::transactional(), HISTORIES).await;
    })
    .await;
    leased::run(&kit).await;
    lost_lease::run(&kit).await;
    by_hand::run(&kit).await;
    purge::run(&kit).await;
    previous::run(&kit).await;
}

/// How many random histories a suite plays.
const HISTORIES: usize = 20;

/// A store under test.
struct Kit<S> {
    idem: Idem<S>,
    store: S,
    calls: Cell<usize>,
}

const NO_ATTEMPT: AttemptId = AttemptId {
    generation: 1,
    attempt: 1,
    since: Timestamp::from_millis(0),
};

/// What an effect of the kit does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    Succeeds,
    Fails,
    Declines,
}

#[derive(Debug, thiserror::Error)]
#[error("the effect of the kit failed")]
struct Failed;

impl<S: TransactionalStore + Clone> Kit<S> {
    fn new(store: S) -> Self {
        Self {
            idem: Idem::new(store.clone()),
            store,
            calls: Cell::new(0),
        }
    }

    /// The same store with other settings.
    fn with(&self, settings: Settings) -> Self {
        let idem = Idem::with_settings(self.store.clone(), settings).expect("settings of the kit agree");
        Self {
            idem,
            store: self.store.clone(),
            calls: Cell::new(0),
        }
    }

    fn call<'a>(&'a self, intent: &'a Intent) -> Call<'a, S, Intent, FromType> {
        self.idem.call(intent).step_id("kit").run_id("kit")
    }

    /// Runs one case; if it panics, its name is told.
    async fn case(&self, name: &str, body: impl Future<Output = ()>) {
        struct Named<'a>(&'a str);
        impl Drop for Named<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    eprintln!("conformance kit, case: {}", self.0);
                }
            }
        }
        let _named = Named(name);
        self.calls.set(0);
        body.await;
    }

    /// One call whose effect returns `7` or fails; counted.
    async fn run(&self, intent: &Intent, effect: Effect) -> Result<Done<u32>, Error> {
        self.finish(self.call(intent), effect).await
    }

    async fn finish(&self, call: Call<'_, S, Intent, FromType>, effect: Effect) -> Result<Done<u32>, Error> {
        call.transaction(async |_: &mut S::Connection| {
            self.calls.set(self.calls.get() + 1);
            match effect {
                Effect::Succeeds => Ok(7),
                Effect::Fails => Err(EffectError::from(Failed)),
                Effect::Declines => Err(EffectError::final_("no")),
            }
        })
        .await
    }

    /// Resolves the attempt that stands.
    async fn resolve<T: serde::Serialize>(&self, intent: &Intent, resolution: Resolution<T>) -> Result<(), Error> {
        let attempt = self
            .view(intent)
            .await
            .record
            .map_or(NO_ATTEMPT, |record| record.attempt_id());
        let by_hand = self.idem.by_hand("ada", "the downstream was asked");
        by_hand.resolve(&self.key(intent), attempt, resolution).await
    }

    fn key(&self, intent: &Intent) -> IdempotencyKey {
        self.call(intent).key().expect("intents of the kit have keys")
    }

    async fn view(&self, intent: &Intent) -> View {
        self.store
            .view(&self.key(intent), None)
            .await
            .expect("the record can be read")
    }

    /// How many effects ran since the last question.
    fn ran(&self) -> usize {
        self.calls.replace(0)
    }
}

fn kind<T: std::fmt::Debug>(result: Result<Done<T>, Error>) -> ErrorKind {
    match result {
        Ok(done) => panic!("expected an error, got {done:?}"),
        Err(error) => error.kind(),
    }
}
