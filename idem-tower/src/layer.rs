use std::sync::Arc;
use std::time::Duration;

use idem_core::{Idem, Recovery, Store, TransactionalStore};
use tower_layer::Layer;

use crate::builder::{Builder, HasScope, NoScope};
use crate::config::Config;
use crate::serve::{Leased, Transactional};
use crate::service::Idempotency;

/// Makes each request with a key one effect, whoever repeats it and whatever fails in between.
///
/// It goes around what has the effect, inside of what authenticates: [`leased`](Self::leased) for handlers that call other
/// services, [`transactional`](Self::transactional) for those whose effect is in the store's database. Clones share
/// everything.
pub struct IdempotencyLayer<S, M> {
    idem: Idem<S>,
    mode: M,
    config: Arc<Config>,
}

impl<S: Store> IdempotencyLayer<S, Leased> {
    /// Runs handlers under a claim with a lease, which is committed before the handler runs and renewed while it does.
    ///
    /// `recovery` says what a repeat may do after an attempt that ended without telling (its process was killed, the handler
    /// answered 5xx or panicked): see [`Recovery`]. The first argument is a store, or an [`Idem`] with settings.
    pub fn leased(idem: impl Into<Idem<S>>, recovery: Recovery) -> Builder<S, Leased, NoScope> {
        Builder::<S, Leased>::new(idem.into(), Leased::new(recovery))
    }
}

impl<S: TransactionalStore> IdempotencyLayer<S, Transactional> {
    /// Runs handlers in the transaction that their key is claimed in. [`Tx`](crate::Tx) hands it over; it commits with the
    /// recorded response, before that leaves, for 2xx, 3xx and what is marked [`EffectCommitted`](crate::EffectCommitted),
    /// and rolls back otherwise.
    ///
    /// The first argument is a store, or an [`Idem`] with settings.
    pub fn transactional(idem: impl Into<Idem<S>>) -> Builder<S, Transactional, NoScope> {
        Builder::<S, Transactional>::new(idem.into(), Transactional(()))
    }
}

impl<S, M: Clone> IdempotencyLayer<S, M> {
    pub(crate) fn from_parts(idem: Idem<S>, mode: M, config: Config) -> Self {
        Self {
            idem,
            mode,
            config: Arc::new(config),
        }
    }

    /// Begins the settings of another layer with those of this one, for a route that differs in some. They share store and
    /// knowledge of what runs.
    pub fn to_builder(&self) -> Builder<S, M, HasScope> {
        Builder::<S, M>::from_parts(self.idem.clone(), self.mode.clone(), (*self.config).clone())
    }

    /// The executor: to look up, resolve and revoke effects, and to purge expired ones.
    #[must_use]
    pub fn idem(&self) -> &Idem<S> {
        &self.idem
    }

    /// Waits until the requests that are being worked on have ended, `limit` at most; how many still run.
    ///
    /// Their work goes on when a client goes away, so a server that has stopped serving connections calls this before it
    /// ends. What is cut off then follows the rules of a crash.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the wait and nothing else.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.idem.drain(limit).await
    }
}

impl<S, M: Clone, I> Layer<I> for IdempotencyLayer<S, M> {
    type Service = Idempotency<I, S, M>;

    fn layer(&self, inner: I) -> Self::Service {
        Idempotency::new(inner, self.idem.clone(), self.mode.clone(), Arc::clone(&self.config))
    }
}

impl<S, M: Clone> Clone for IdempotencyLayer<S, M> {
    fn clone(&self) -> Self {
        Self {
            idem: self.idem.clone(),
            mode: self.mode.clone(),
            config: Arc::clone(&self.config),
        }
    }
}

impl<S, M: std::fmt::Debug> std::fmt::Debug for IdempotencyLayer<S, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("mode", &self.mode)
            .field("header", &self.config.rules.name)
            .field("profile", &self.config.profile)
            .finish_non_exhaustive()
    }
}
