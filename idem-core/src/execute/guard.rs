use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use super::attempt::{decline, finish};
use super::prepared::{Prepared, Won};
use super::registry::Called;
use super::{Done, Shared, send};
use crate::error::Error;
use crate::key::IdempotencyKey;
use crate::record::{Outcome, OutcomeKind};
use crate::store::{StoreClaim, TransactionalStore};

/// What [`Call::begin`](super::Call::begin) found.
#[must_use]
#[expect(
    clippy::large_enum_variant,
    reason = "it is matched and taken apart at once; a box would cost every call"
)]
pub enum Begun<S: TransactionalStore, T> {
    /// The claim is won: have the effect on [`Guard::connection`], then [`Guard::complete`].
    Execute(Guard<S, T>),
    /// The effect ran before; this is its recorded result.
    Replayed(T),
}

/// A won claim in its open transaction.
///
/// Dropping it rolls back claim and effect; nothing is recorded then.
#[must_use = "dropping a guard rolls back what was done through it"]
pub struct Guard<S: TransactionalStore, T> {
    shared: Arc<Shared<S>>,
    call: Arc<Prepared>,
    transaction: S::Transaction<'static>,
    claim: StoreClaim,
    won: Won,
    // After the transaction: duplicates are woken when it has ended.
    _called: Option<Called>,
    result: PhantomData<fn() -> T>,
}

impl<S: TransactionalStore, T: Serialize + DeserializeOwned> Guard<S, T> {
    pub(super) fn new(
        shared: Arc<Shared<S>>,
        call: Arc<Prepared>,
        called: Option<Called>,
        transaction: S::Transaction<'static>,
        claim: StoreClaim,
        won: Won,
    ) -> Self {
        Self {
            shared,
            call,
            transaction,
            claim,
            won,
            _called: called,
            result: PhantomData,
        }
    }

    /// What the effect runs its statements on.
    pub fn connection(&mut self) -> &mut S::Connection {
        self.transaction.as_mut()
    }

    /// The key of this call.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        self.call.key()
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.won.attempt
    }

    /// How often the effect was reopened, from 1.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.won.generation
    }

    /// Records `value` as the outcome and commits it with the effect.
    ///
    /// Returns what stands in the end: [`Done::Executed`], unless the effect's `once_per` place was taken
    /// meanwhile and the key has an outcome of another attempt.
    ///
    /// # Errors
    ///
    /// As [`Call::transaction`](super::Call::transaction); nothing was committed then, except that
    /// after a lost COMMIT only the next call can tell.
    ///
    /// # Cancel safety
    ///
    /// Until COMMIT is sent, dropping the future leaves neither effect nor record; from then on there
    /// are both or neither.
    pub async fn complete(self, value: T) -> Result<Done<T>, Error> {
        let Self {
            shared,
            call,
            transaction,
            claim,
            won,
            _called,
            ..
        } = self;
        let result = finish(&shared, &call, transaction, &claim, won, value)
            .instrument(call.watch.span())
            .await;
        call.watch.conclude(&result);
        result
    }

    /// Rolls the effect back and records `value` as a final error, which every repeat gets.
    ///
    /// Returns what stands in the end: if another attempt has won meanwhile, that is its result.
    ///
    /// # Errors
    ///
    /// Kind [`Declined`](crate::ErrorKind::Declined) when the final error is recorded, else as
    /// [`Call::transaction`](super::Call::transaction).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves no effect; the final error is recorded or not.
    pub async fn decline<V: Serialize + ?Sized>(self, value: &V) -> Result<Done<T>, Error> {
        let outcome = match Outcome::encode(OutcomeKind::Declined, value) {
            Ok(outcome) => outcome,
            Err(source) => {
                // Told when nothing is in the way of the next call.
                let _ = self.roll_back().await;
                let message = "the value of a final error cannot be written as JSON; nothing was recorded";
                return Err(Error::misuse(message, source));
            }
        };
        let Self {
            shared,
            call,
            transaction,
            _called,
            ..
        } = self;
        let declining = async {
            send(shared.store.rollback(transaction)).await?;
            decline(&shared, &call, outcome).await
        };
        let result = declining.instrument(call.watch.span()).await;
        call.watch.conclude(&result);
        result
    }

    /// Rolls the effect back and records nothing. Dropping the guard does the same, without waiting.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store) when the storage does not answer; nothing is committed
    /// then either.
    ///
    /// # Cancel safety
    ///
    /// Everything is rolled back in every case.
    pub async fn roll_back(self) -> Result<(), Error> {
        send(self.shared.store.rollback(self.transaction)).await
    }
}
