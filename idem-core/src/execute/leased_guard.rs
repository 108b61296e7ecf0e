use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::AbortHandle;
use tracing::Instrument as _;

use super::effect::Effect;
use super::lease::{Held, Lease, fail_later};
use super::leased::{report, succeed};
use super::prepared::Prepared;
use super::tracker::Token;
use super::{Done, EffectError, Shared};
use crate::error::{Error, ErrorKind};
use crate::store::Store;

/// What [`Call::lease`](super::Call::lease) found.
#[must_use]
pub enum Leased<S: Store, T> {
    /// The claim is won: have the effect, then [`LeasedGuard::complete`].
    Execute(LeasedGuard<S, T>),
    /// The effect ran before; this is its recorded result.
    Replayed(T),
}

/// A won claim with a lease that is being renewed.
///
/// Dropping it means that it is not known what happened.
#[must_use = "dropping a guard says that the outcome is unknown"]
pub struct LeasedGuard<S: Store, T> {
    shared: Arc<Shared<S>>,
    /// Taken when the guard has said what happened.
    open: Option<Box<(Arc<Prepared>, Held)>>,
    effect: Effect,
    /// Unless the guard is told when to renew.
    renewing: Option<AbortHandle>,
    /// Unless the task is tracked that the call is made in.
    _token: Option<Token>,
    result: PhantomData<fn() -> T>,
}

impl<S: Store, T: Serialize + DeserializeOwned> LeasedGuard<S, T> {
    pub(super) fn new(shared: Arc<Shared<S>>, call: Arc<Prepared>, held: Held) -> Self {
        let renewing =
            (!call.detached).then(|| tokio::spawn(held.lease.clone().keep_alive(Arc::clone(&shared))).abort_handle());
        let (effect, token) = (held.effect(), (!call.detached).then(|| shared.tracker.token()));
        Self {
            shared,
            open: Some(Box::new((call, held))),
            effect,
            renewing,
            _token: token,
            result: PhantomData,
        }
    }

    /// The effect's identity, for the downstream call.
    #[must_use]
    pub fn effect(&self) -> &Effect {
        &self.effect
    }

    /// What keeps the lease alive while something runs, for the guard of a [detached](super::Call::detached) call, which does
    /// not do so by itself.
    #[must_use]
    pub fn renewal(&self) -> Renewal<S> {
        Renewal {
            shared: Arc::clone(&self.shared),
            lease: self.open.as_ref().map(|open| open.1.lease.clone()),
        }
    }

    /// Records `value` as the outcome of an effect that happened.
    ///
    /// # Errors
    ///
    /// As [`Call::run`](super::Call::run).
    ///
    /// # Cancel safety
    ///
    /// The outcome is recorded or becomes unknown.
    pub async fn complete(mut self, value: T) -> Result<Done<T>, Error> {
        let Some((call, held)) = self.open.as_deref() else {
            return Err(Error::new(
                ErrorKind::Misuse,
                "the guard has said what happened already",
            ));
        };
        let result = succeed(&self.shared, call, held, &self.effect, value)
            .instrument(call.watch.span())
            .await;
        call.watch.conclude(&result);
        self.open = None;
        result
    }

    /// Ends the attempt with an error: final, known to have had no effect, or unknown.
    ///
    /// # Errors
    ///
    /// As [`Call::run`](super::Call::run); returns what stands if another attempt has taken over.
    ///
    /// # Cancel safety
    ///
    /// As [`complete`](Self::complete).
    pub async fn fail(mut self, error: EffectError) -> Result<Done<T>, Error> {
        let Some((call, held)) = self.open.as_deref() else {
            return Err(Error::new(
                ErrorKind::Misuse,
                "the guard has said what happened already",
            ));
        };
        let report = report(&self.shared, call, held, &self.effect, error.into_verdict());
        let result = report.instrument(call.watch.span()).await;
        call.watch.conclude(&result);
        self.open = None;
        result
    }
}

impl<S: Store, T> Drop for LeasedGuard<S, T> {
    fn drop(&mut self) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
        if let Some((call, held)) = self.open.take().map(|open| *open) {
            fail_later(Arc::clone(&self.shared), call, held);
        }
    }
}

/// Keeps the lease of a [`LeasedGuard`] alive.
pub struct Renewal<S> {
    shared: Arc<Shared<S>>,
    lease: Option<Lease>,
}

impl<S: Store> Renewal<S> {
    /// Runs `work`, and renews the lease at a third of its length meanwhile. Work that is done at once costs no timer.
    ///
    /// # Cancel safety
    ///
    /// That of `work`.
    pub async fn during<F: Future>(mut self, mut work: Pin<&mut F>) -> F::Output {
        let mut renewing = None;
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                if let Some(lease) = self.lease.take() {
                    renewing = Some(Box::pin(lease.keep_alive(Arc::clone(&self.shared))));
                }
                if let Some(renewing) = &mut renewing {
                    let _ = renewing.as_mut().poll(context);
                }
            }
            polled
        })
        .await
    }
}
