//! How the cases have their effects that hold in a transaction and under a lease alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Effect, Failed};
use crate::error::Error;
use crate::execute::{Call, Done, EffectError};
use crate::key::{FromType, Idempotent, TenantKnown};
use crate::record::Recovery;
use crate::store::{Store, TransactionalStore};

/// How an effect is had.
pub(super) trait Way<S: Store>: 'static {
    /// Ends `call` in an effect that is counted, takes `pause` and comes out as `effect` says.
    async fn finish<I>(
        call: Call<'_, S, I, FromType>,
        calls: &Calls,
        pause: Duration,
        effect: Effect,
    ) -> Result<Done<u32>, Error>
    where
        I: Idempotent + TenantKnown<FromType>;
}

/// By `transaction`.
pub(super) struct InTransactions;

impl<S: TransactionalStore> Way<S> for InTransactions {
    async fn finish<I>(
        call: Call<'_, S, I, FromType>,
        calls: &Calls,
        pause: Duration,
        effect: Effect,
    ) -> Result<Done<u32>, Error>
    where
        I: Idempotent + TenantKnown<FromType>,
    {
        call.transaction(async |_: &mut S::Connection| calls.had(pause, effect, EffectError::from).await)
            .await
    }
}

/// By `run`. An effect that fails says that nothing happened, which is what it comes to in a transaction.
pub(super) struct UnderLeases;

impl<S: Store> Way<S> for UnderLeases {
    async fn finish<I>(
        call: Call<'_, S, I, FromType>,
        calls: &Calls,
        pause: Duration,
        effect: Effect,
    ) -> Result<Done<u32>, Error>
    where
        I: Idempotent + TenantKnown<FromType>,
    {
        let calls = calls.clone();
        call.run(Recovery::Hold, async move |_: crate::execute::Effect| {
            calls.had(pause, effect, EffectError::nothing_happened).await
        })
        .await
    }
}

/// Counts the effects of a kit.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<AtomicUsize>);

impl Calls {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// How many since the last question.
    pub(super) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }

    /// How many, without asking anew.
    pub(super) fn so_far(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    async fn had(
        &self,
        pause: Duration,
        effect: Effect,
        failed: fn(Failed) -> EffectError,
    ) -> Result<u32, EffectError> {
        if pause.is_zero() {
            // Whoever races with it gets a chance.
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
        self.add();
        match effect {
            Effect::Succeeds => Ok(7),
            Effect::Fails => Err(failed(Failed)),
            Effect::Declines => Err(EffectError::final_("no")),
        }
    }
}
