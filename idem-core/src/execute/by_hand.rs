//! What a person or a reconciliation does to the record of an effect: resolve, revoke, reopen.
//!
//! | the process ends | what remains | the same step again |
//! |---|---|---|
//! | before the step's transaction is committed | nothing of it | takes effect |
//! | after | record and entry | is recognised, or refused because its generation or attempt has passed |

use serde::Serialize;

use super::keeping::unkept;
use super::plan::Step;
use super::prepared::{LONGEST_TEXT, text_fault};
use super::{Idem, Shared, scope, send};
use crate::codec::{Keeper, Retain};
use crate::error::{Error, ErrorKind, Retry};
use crate::key::IdempotencyKey;
use crate::record::{Outcome, OutcomeKind, OwnerToken};
use crate::state::AttemptId;
use crate::store::{Store, TransactionalStore, View, atomic};

/// What somebody found out about an effect whose outcome was unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution<T> {
    /// It happened, with this result; repeats get it.
    Happened(T),
    /// It did not happen; the next call runs it.
    DidNotHappen,
}

/// Changes the record of an effect by hand, in the name of an actor and for a reason.
///
/// Made by [`Idem::by_hand`]. The ledger keeps who did what; the reason is kept in the part of it that can be
/// erased. Each function takes effect whole or not at all. Those that end in `_in` work on a transaction that
/// the caller has open, so that undoing an effect and saying so commit together.
pub struct ByHand<'a, S> {
    pub(super) shared: &'a Shared<S>,
    pub(super) actor: String,
    pub(super) reason: String,
    retain: Retain,
}

impl<S: Store> Idem<S> {
    /// Begins a change by hand. `actor` is who makes it, a person or the reconciliation that asked the
    /// downstream; `reason` is why. Neither may be empty or contain U+0000; 1024 bytes at most each.
    ///
    /// # Examples
    ///
    /// ```
    /// # use idem_core::{Idem, IdempotencyKey, MemoryStore};
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let idem = Idem::new(MemoryStore::new());
    /// let key: IdempotencyKey = "dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2".parse()?;
    /// let error = idem.by_hand("ada", "refunded to the wrong card").revoke(&key, 1).await.unwrap_err();
    /// assert!(error.to_string().contains("the ledger holds no effect of this key"));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn by_hand(&self, actor: impl Into<String>, reason: impl Into<String>) -> ByHand<'_, S> {
        ByHand {
            shared: &self.shared,
            actor: actor.into(),
            reason: reason.into(),
            retain: self.shared.settings.retain,
        }
    }

    /// Reads what is on record about a key, without changing anything.
    ///
    /// For people and reports. That an effect may run is never concluded from it: only a call decides. Of an effect that is
    /// on record under a previous key it shows what is there.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](ErrorKind::Store) and [`Corrupt`](ErrorKind::Corrupt).
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn peek(&self, key: &IdempotencyKey) -> Result<View, Error> {
        let view = self.shared.store.view(key, None).await?;
        match view.alias() {
            Some(key) => self.shared.store.view(&key, None).await,
            None => Ok(view),
        }
    }
}

impl<S: Store> ByHand<'_, S> {
    /// Keeps the outcome that is [resolved](Self::resolve), or only its digest. Default: the setting of
    /// [`Settings::retain`](super::Settings::retain).
    #[must_use]
    pub fn retain(mut self, retain: Retain) -> Self {
        self.retain = retain;
        self
    }

    /// Says what became of an effect whose outcome is unknown.
    ///
    /// `attempt` is the one that was looked into, as [`Idem::stuck`] and [`Idem::peek`] tell it: if another has begun since,
    /// nothing changes. The owner of the attempt is fenced out; what it may still report changes nothing. Before you say
    /// that nothing happened, make sure that its call cannot be on its way any more. The value of
    /// [`Happened`](Resolution::Happened) has to be the call's own result type: repeats that cannot read it are told that
    /// the result is unavailable, and it stays.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when the outcome of that attempt is not unknown, when actor or reason is
    /// empty, or when the value cannot be written as JSON; [`Store`](ErrorKind::Store) and
    /// [`Corrupt`](ErrorKind::Corrupt).
    ///
    /// # Cancel safety
    ///
    /// The step takes effect or not.
    pub async fn resolve<T: Serialize>(
        self,
        key: &IdempotencyKey,
        attempt: AttemptId,
        resolution: Resolution<T>,
    ) -> Result<(), Error> {
        let key = &self.on_record(key).await?;
        let step = self.resolution(key, attempt, resolution)?;
        self.take(key, step).await
    }

    /// Says that an effect was undone. Repeats are refused from then on, with the original result at hand if it is still
    /// kept; its `once_per` place is free. Works through the ledger when the record is gone.
    ///
    /// `expected_generation` is the one that was looked at, 1 unless the effect was reopened. Of two people who revoke the
    /// same effect one does; the other is refused, so that an undo that commits with it is done once.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when no effect stands under the key in that generation or when it is called inside an effect, else as [`resolve`](Self::resolve).
    ///
    /// # Cancel safety
    ///
    /// The step takes effect or not.
    pub async fn revoke(self, key: &IdempotencyKey, expected_generation: u32) -> Result<(), Error> {
        let key = &self.on_record(key).await?;
        let step = Step::revoke(expected_generation)?;
        self.take(key, step).await
    }

    /// Lets a revoked effect happen once more, in the next generation, with another downstream key and row id. The
    /// request stays bound to its fingerprint. Works through the ledger when the record is gone.
    ///
    /// `expected_generation` is the one that was seen revoked, so that two people who reopen the same effect reopen it
    /// once.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when the effect is not revoked in that generation,
    /// [`AlreadyExecuted`](ErrorKind::AlreadyExecuted) when another key holds its `once_per` place, else as
    /// [`resolve`](Self::resolve).
    ///
    /// # Cancel safety
    ///
    /// The step takes effect or not.
    pub async fn reopen(self, key: &IdempotencyKey, expected_generation: u32) -> Result<(), Error> {
        let key = &self.on_record(key).await?;
        let step = Step::reopen(expected_generation)?;
        self.take(key, step).await
    }

    /// The key under which the effect is on record, which is the previous one where `key` is its alias.
    async fn on_record(&self, key: &IdempotencyKey) -> Result<IdempotencyKey, Error> {
        scope::check_by_hand()?;
        self.check()?;
        let view = self.shared.store.view(key, None).await?;
        Ok(view.alias().unwrap_or_else(|| key.clone()))
    }

    async fn take(self, key: &IdempotencyKey, step: Step) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let store = &self.shared.store;
            let origin = store.origin(key).await?;
            let view = store.view(key, None).await?;
            let plan = self.plan(key, &step, view, origin)?;
            match store.settle(key, &plan.event, &plan.entries).await {
                Err(error) if error.retry() == Retry::Transaction && tries < TRIES => tries += 1,
                reply => return step.answer(key, reply?),
            }
        }
    }
}

impl<S: TransactionalStore> ByHand<'_, S> {
    /// As [`resolve`](Self::resolve), on an open transaction of the caller's.
    ///
    /// # Errors
    ///
    /// As there; the transaction stays usable.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has to be followed by the roll-back of the transaction.
    pub async fn resolve_in<T: Serialize>(
        self,
        connection: &mut S::Connection,
        key: &IdempotencyKey,
        attempt: AttemptId,
        resolution: Resolution<T>,
    ) -> Result<(), Error> {
        let key = &self.on_record_in(connection, key).await?;
        let step = self.resolution(key, attempt, resolution)?;
        self.take_in(connection, key, step).await
    }

    /// As [`revoke`](Self::revoke), on an open transaction of the caller's: undo the effect in it, too.
    ///
    /// # Errors
    ///
    /// As there; the transaction stays usable.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has to be followed by the roll-back of the transaction.
    pub async fn revoke_in(
        self,
        connection: &mut S::Connection,
        key: &IdempotencyKey,
        expected_generation: u32,
    ) -> Result<(), Error> {
        let key = &self.on_record_in(connection, key).await?;
        let step = Step::revoke(expected_generation)?;
        self.take_in(connection, key, step).await
    }

    /// As [`reopen`](Self::reopen), on an open transaction of the caller's.
    ///
    /// # Errors
    ///
    /// As there; the transaction stays usable.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has to be followed by the roll-back of the transaction.
    pub async fn reopen_in(
        self,
        connection: &mut S::Connection,
        key: &IdempotencyKey,
        expected_generation: u32,
    ) -> Result<(), Error> {
        let key = &self.on_record_in(connection, key).await?;
        let step = Step::reopen(expected_generation)?;
        self.take_in(connection, key, step).await
    }

    /// As [`on_record`](Self::on_record), by what the transaction sees.
    async fn on_record_in(
        &self,
        connection: &mut S::Connection,
        key: &IdempotencyKey,
    ) -> Result<IdempotencyKey, Error> {
        self.check()?;
        let store = &self.shared.store;
        let mut savepoint = send(store.nest(connection)).await?;
        let view = send(store.view_in(&mut savepoint, key, None)).await;
        send(store.rollback(savepoint)).await?;
        let key = view?.alias().unwrap_or_else(|| key.clone());
        scope::check_not_inside(&key)?;
        Ok(key)
    }

    async fn take_in(self, connection: &mut S::Connection, key: &IdempotencyKey, step: Step) -> Result<(), Error> {
        let store = &self.shared.store;
        let mut savepoint = send(store.nest(connection)).await?;
        let settled = async {
            let origin = send(store.origin_in(&mut savepoint, key)).await?;
            let view = send(store.view_in(&mut savepoint, key, None)).await?;
            let plan = self.plan(key, &step, view, origin)?;
            send(atomic::settle_in(
                store,
                &mut savepoint,
                key,
                &plan.event,
                &plan.entries,
            ))
            .await
        };
        let settled = settled.await.and_then(|reply| step.answer(key, reply));
        match settled {
            Ok(()) => send(store.commit(savepoint)).await,
            Err(error) => {
                // Why it failed matters more than whether the roll-back was acknowledged.
                let _ = send(store.rollback(savepoint)).await;
                Err(error)
            }
        }
    }
}

impl<S> ByHand<'_, S> {
    pub(super) fn check(&self) -> Result<(), Error> {
        for (what, text) in [("actor", &self.actor), ("reason", &self.reason)] {
            if text.trim().is_empty() {
                let message =
                    format!("a change by hand needs the {what}; nothing was changed. Say who makes it and why");
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            if let Some(fault) = text_fault(what, Some(text), LONGEST_TEXT) {
                return Err(Error::new(ErrorKind::Misuse, format!("{fault}; nothing was changed")));
            }
        }
        Ok(())
    }

    fn resolution<T: Serialize>(
        &self,
        key: &IdempotencyKey,
        attempt: AttemptId,
        resolution: Resolution<T>,
    ) -> Result<Step, Error> {
        let outcome = match resolution {
            Resolution::Happened(value) => {
                let outcome = Outcome::encode(OutcomeKind::Success, &value).map_err(|source| {
                    Error::misuse(
                        "the outcome cannot be written as JSON, so no repeat could get it; nothing was recorded",
                        source,
                    )
                })?;
                let keeper = Keeper {
                    retain: self.retain,
                    ..self.shared.settings.keeper()
                };
                Some(
                    keeper
                        .keep(key, outcome)
                        .map_err(|source| unkept("the outcome", source))?,
                )
            }
            Resolution::DidNotHappen => None,
        };
        Ok(Step::Resolve {
            attempt,
            outcome,
            owner: OwnerToken::random()?,
        })
    }
}

/// How often a change is planned anew when the record has changed in between.
const TRIES: u32 = 10;
