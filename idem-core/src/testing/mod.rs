//! What tests of stores, and of services that use them, are made of.
//!
//! # For the author of a store
//!
//! The conformance kit is one suite that every store runs. It drives a store through the executor and compares what it
//! does with the transition function. It needs no effect of its own: it counts how often the effect was called, and reads
//! records and ledger back through the store. It works in tenants of its own, so the store may hold other records. What
//! needs the ledger is left out where [`Store::capabilities`] says that there is none.
//!
//! A store that implements [`Store`] runs [`leased_store`]; one that implements [`TransactionalStore`] too runs
//! [`transactional_store`], which includes the other. Run it in a test that the storage's own server is part of: a
//! conforming program on a storage that forgets what it has acknowledged does not conform.
//!
//! | rule | `leased_store` | `transactional_store` |
//! |---|---|---|
//! | a first call runs, a repeat replays, another payload is refused | yes | in either mode |
//! | of 32 claimants at once, with and without a registry in common, one has the effect | yes | in either mode |
//! | a final error replays; what is known not to have happened may run again | yes | in either mode |
//! | a lease is renewed; after its end the stricter recovery decides, within the horizon | yes | yes |
//! | a stale token changes nothing; a late acknowledgement of the owner counts | yes | yes |
//! | a claim, completion, failure or renewal that is sent again is a no-op with the same answer | yes | yes |
//! | an expired outcome is not run again while the ledger has it; a purge takes nothing that is open | yes | in either mode |
//! | an effect with a tombstone is told to have happened when it is not replayed any more; a final error is not | yes | in either mode |
//! | one effect in a `once_per` place | yes | in either mode |
//! | a call without ledger runs once while its record is kept, and writes no entry | yes | in either mode |
//! | resolve, revoke and reopen: the right attempt or generation, once, also without the record | yes | in either mode |
//! | a key whose definition has changed lives under one key | yes | in either mode |
//! | claim, effect, outcome and entry stand or fall together; savepoints; changes by hand in a transaction | | yes |
//! | random histories of every event go as the transition function says, step by step | yes | in either mode |
//!
//! Two rules need more than a store gives. Whether leases, retentions and horizons end to the millisecond, and what happens when
//! the clock goes back, is shown by [`leased_histories`] and [`histories`] for a store that has a [`TestClock`]. And that a corrupt
//! row is an error of kind `Corrupt`, never an absent record, is for a test of its own that writes such rows.
//!
//! # For the author of a service
//!
//! [`kill_after_commit`] kills a handler between its commit and its answer, and runs it again. A [`TestClock`] ends leases and
//! retentions without waiting for them.
//!
//! # Examples
//!
//! A store without transactions, here stood in for by one that has them:
//!
//! ```
//! # async fn run() {
//! idem_core::testing::leased_store(idem_core::MemoryStore::new()).await;
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run());
//! ```
//!
//! A store with transactions:
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
mod kill_after_commit;
mod leased;
mod lost_lease;
mod parts;
mod previous;
mod purge;
#[cfg(test)]
mod tests;
mod tombstone;
mod unledgered;
mod way;

pub use clock::{Clock, TestClock};
pub use histories::{histories, leased_histories};
pub use intent::Intent;
pub(crate) use kill_after_commit::durable;
pub use kill_after_commit::{Run, kill_after_commit};

use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::execute::{Call, Done, Idem, Resolution, Settings};
use crate::key::{FromType, IdempotencyKey, Idempotent, TenantKnown};
use crate::state::AttemptId;
use crate::store::{Store, TransactionalStore, View};
use way::{Calls, InTransactions, UnderLeases, Way};

/// Runs every case of the kit on a store with transactions, those of [`leased_store`] among them.
///
/// # Panics
///
/// At the first rule that the store breaks; the message names the case.
///
/// # Cancel safety
///
/// Dropping the future ends the suite; records of its tenants stay behind.
pub async fn transactional_store<S: TransactionalStore + Clone>(store: S) {
    let kit = Kit::<S, InTransactions>::new(store.clone());
    basics::run(&kit).await;
    joined::run(&kit).await;
    kit.case("random histories", async {
        histories::play(&kit.store, &histories::Abilities::transactional(), HISTORIES).await;
    })
    .await;
    leased::run_beside_transactions(&kit).await;
    by_hand::run_in_transactions(&kit).await;
    previous::run_in_transactions(&kit).await;
    either_way(&kit).await;
    leased_store(store).await;
}

/// Runs every case of the kit that needs no transaction.
///
/// It takes some seconds, most of which it waits for leases to end. Leases are short, down to 600 ms: a store whose steps
/// take longer than a third of that fails.
///
/// # Panics
///
/// At the first rule that the store breaks; the message names the case.
///
/// # Cancel safety
///
/// Dropping the future ends the suite; records of its tenants stay behind.
pub async fn leased_store<S: Store + Clone>(store: S) {
    let kit = Kit::<S, UnderLeases>::new(store);
    leased::run(&kit).await;
    lost_lease::run(&kit).await;
    unledgered::run_under_leases(&kit).await;
    kit.case("random histories", async {
        histories::play(&kit.store, &histories::Abilities::none(), HISTORIES).await;
    })
    .await;
    either_way(&kit).await;
}

/// How many random histories a suite plays.
const HISTORIES: usize = 20;

/// The cases that hold however effects are had.
async fn either_way<S: Store + Clone, W: Way<S>>(kit: &Kit<S, W>) {
    expiry::run(kit).await;
    concurrent::run(kit).await;
    by_hand::run(kit).await;
    purge::run(kit).await;
    previous::run(kit).await;
    unledgered::run(kit).await;
    tombstone::run(kit).await;
}

/// A store under test, and how its effects are had.
struct Kit<S, W = InTransactions> {
    idem: Idem<S>,
    store: S,
    calls: Calls,
    way: PhantomData<W>,
}

/// Long enough for another call to find out that one runs.
const WHILE: Duration = Duration::from_millis(30);

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

impl<S: Store + Clone, W: Way<S>> Kit<S, W> {
    fn new(store: S) -> Self {
        Self {
            idem: Idem::new(store.clone()),
            store,
            calls: Calls::default(),
            way: PhantomData,
        }
    }

    /// The same store with other settings; effects are counted together.
    fn with(&self, settings: Settings) -> Self {
        let idem = Idem::with_settings(self.store.clone(), settings).expect("settings of the kit agree");
        Self {
            idem,
            store: self.store.clone(),
            calls: self.calls.clone(),
            way: PhantomData,
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
        self.calls.take();
        body.await;
    }

    /// One call whose effect returns `7` or fails; counted.
    async fn run(&self, intent: &Intent, effect: Effect) -> Result<Done<u32>, Error> {
        self.finish(self.call(intent), effect).await
    }

    async fn finish<I>(&self, call: Call<'_, S, I, FromType>, effect: Effect) -> Result<Done<u32>, Error>
    where
        I: Idempotent + TenantKnown<FromType>,
    {
        W::finish(call, &self.calls, Duration::ZERO, effect).await
    }

    /// As [`run`](Self::run), with an effect that succeeds after a while.
    async fn run_slowly(&self, intent: &Intent) -> Result<Done<u32>, Error> {
        W::finish(self.call(intent), &self.calls, WHILE, Effect::Succeeds).await
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
        self.calls.take()
    }
}

fn kind<T: std::fmt::Debug>(result: Result<Done<T>, Error>) -> ErrorKind {
    match result {
        Ok(done) => panic!("expected an error, got {done:?}"),
        Err(error) => error.kind(),
    }
}
