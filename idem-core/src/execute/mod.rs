//! Runs effects at most once each.

mod answer;
mod attempt;
mod by_hand;
mod call;
mod care;
mod done;
mod effect;
mod effect_error;
mod guard;
mod identity;
mod join;
mod keeping;
mod lease;
mod leased;
mod leased_guard;
mod plan;
mod prepared;
mod ready;
mod registry;
mod retrying;
mod scope;
mod settings;
mod telemetry;
mod tracker;
mod watch;

#[cfg(test)]
mod tests;

pub use by_hand::{ByHand, Resolution};
pub use call::Call;
pub use care::{Reconciled, Stuck, StuckState};
pub use done::Done;
pub use effect::Effect;
pub use effect_error::EffectError;
pub use guard::{Begun, Guard};
pub use leased_guard::{Leased, LeasedGuard, Renewal};
pub use ready::ReadyCall;
pub use settings::Settings;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::key::{FromType, IdempotencyKey, Idempotent, IdempotentFields, TenantKnown};
use crate::observe::{Observer, tell};
use crate::record::Recovery;
use crate::store::{Store, TransactionalStore};
use registry::Registry;
use tracker::Tracker;

/// The front door: runs effects through a store so that each happens once.
///
/// Clones share the store, the settings and the knowledge of which keys are running in this process.
///
/// # Examples
///
/// ```
/// # use idem_core::{Idem, MemoryStore};
/// let idem = Idem::new(MemoryStore::new());
/// assert_eq!(idem.store().executed(), 0);
/// ```
pub struct Idem<S> {
    shared: Arc<Shared<S>>,
}

pub(crate) struct Shared<S> {
    pub(crate) store: S,
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) tracker: Tracker,
}

impl<S> Idem<S> {
    /// Creates a front door with the default [`Settings`].
    pub fn new(store: S) -> Self {
        Self::from_parts(store, Settings::default())
    }

    /// Creates a front door with settings of its own.
    ///
    /// # Errors
    ///
    /// Fails with kind [`Misuse`](crate::ErrorKind::Misuse) when the settings contradict each other,
    /// naming both.
    pub fn with_settings(store: S, settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self::from_parts(store, settings))
    }

    fn from_parts(store: S, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                settings,
                registry: Registry::default(),
                tracker: Tracker::default(),
            }),
        }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.shared.store
    }

    /// Waits until the outside effects that run in this process have ended, and what was [spawned](Self::spawn) here,
    /// `limit` at most, and returns how many still run. Stop accepting work first.
    ///
    /// What still runs when the process ends is left to the end of its lease; a transaction is rolled back.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait and nothing else.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.shared.tracker.drain(limit).await
    }

    /// Runs `work` in a task that [`drain`](Self::drain) waits for and that a dropped caller does not cancel.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn spawn<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let token = self.shared.tracker.token();
        tokio::spawn(async move {
            // Dropped with the work, whether that ends or is dropped.
            let _token = token;
            work.await
        })
    }

    /// Runs `work` as the inside of the effect of `key`: a second call in it that would commit apart from the effect, or wait
    /// for it, is refused. For effects that run on a [`Guard`], whose body nobody else knows; the closures of other calls
    /// are marked by themselves.
    ///
    /// # Cancel safety
    ///
    /// That of `work`.
    pub async fn inside<F: Future>(&self, key: &IdempotencyKey, work: F) -> F::Output {
        scope::inside(key, work).await
    }

    /// Checks a retention that calls will name, as each of them does.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) when it is zero, or shorter than a lease or than the replay window of the settings.
    pub fn check_retention(&self, retention: Duration) -> Result<(), Error> {
        Settings {
            retention,
            ..self.shared.settings.clone()
        }
        .check()
    }

    /// Tells the [`Observer`] of the settings something, if there is one. A panic in it stays in it.
    pub fn observe(&self, event: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = &self.shared.settings.observer {
            tell(observer.as_ref(), event);
        }
    }

    /// Begins to describe one call: tenant, step, run, basis, wait, and how it ends.
    pub fn call<'a, I: IdempotentFields + ?Sized>(&'a self, input: &'a I) -> Call<'a, S, I> {
        Call::new(&self.shared, input)
    }

    /// Runs `effect` in one transaction with its claim, its outcome and its ledger entry.
    ///
    /// Shorthand for [`call(input)`](Self::call)[`.transaction(effect)`](Call::transaction), which
    /// has the details.
    ///
    /// # Errors
    ///
    /// As [`Call::transaction`].
    ///
    /// # Cancel safety
    ///
    /// As [`Call::transaction`].
    pub async fn transaction<I, T, F>(&self, input: &I, effect: F) -> Result<Done<T>, Error>
    where
        S: TransactionalStore,
        I: Idempotent + TenantKnown<FromType> + ?Sized,
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError> + Clone,
    {
        self.call(input).transaction(effect).await
    }
}

impl<S: Store> From<S> for Idem<S> {
    /// A front door with the default [`Settings`].
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

/// Forgets the type of a future of the store, but not that it is `Send`.
///
/// Its own type names the lifetime of a transaction. Held across an `await`, such a type keeps the
/// compiler from seeing that the caller's future is `Send` (rust-lang/rust#100013), and then no call
/// could be spawned or made in a handler.
pub(crate) fn send<'f, T>(future: impl Future<Output = T> + Send + 'f) -> Pin<Box<dyn Future<Output = T> + Send + 'f>> {
    Box::pin(future)
}

impl<S: Store> Idem<S> {
    /// Runs an outside effect under a claim with a lease.
    ///
    /// Shorthand for [`call(input)`](Self::call)[`.run(recovery, effect)`](Call::run), which has the
    /// details.
    ///
    /// # Errors
    ///
    /// As [`Call::run`].
    ///
    /// # Cancel safety
    ///
    /// As [`Call::run`].
    pub async fn run<I, T, F, Fut>(&self, input: &I, recovery: Recovery, effect: F) -> Result<Done<T>, Error>
    where
        I: Idempotent + TenantKnown<FromType> + ?Sized,
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce(Effect) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, EffectError>> + Send + 'static,
    {
        self.call(input).run(recovery, effect).await
    }
}

impl<S> Clone for Idem<S> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}
