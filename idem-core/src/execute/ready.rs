use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use super::attempt::{Claimed, Entry, enter, mismatch_of_running, probe, probe_and_claim, turned_away};
use super::leased::hold;
use super::prepared::Prepared;
use super::retrying::Retrying;
use super::{Begun, Guard, Leased, Shared};
use crate::error::Error;
use crate::key::IdempotencyKey;
use crate::observe::Conclusion;
use crate::record::Recovery;
use crate::store::{Store, TransactionalStore};

/// A call whose key is derived: it can be answered from the record before anything is made ready to run.
///
/// Made by [`Call::ready`](super::Call::ready). Ends in [`begin`](Self::begin) or [`lease`](Self::lease), or with an answer of
/// [`replay`](Self::replay).
#[must_use = "a call does nothing until it is answered or claimed"]
pub struct ReadyCall<S> {
    shared: Arc<Shared<S>>,
    call: Arc<Prepared>,
}

impl<S: Store> ReadyCall<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, call: Prepared) -> Self {
        Self {
            shared,
            call: Arc::new(call),
        }
    }

    /// The key of the call.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        self.call.key()
    }

    /// Answers from the record, without a claim: the recorded outcome, or `None` where the effect may have to run, which
    /// only a claim can tell.
    ///
    /// # Errors
    ///
    /// What [`begin`](Self::begin) and [`lease`](Self::lease) say of an outcome that is on record, and of the store.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed, but that a refusal is put on record or not.
    pub async fn replay<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let answer = async {
            match probe(&self.shared, &self.call).await? {
                None => Ok(None),
                Some(reply) => turned_away(&self.shared, &self.call, reply).await.map(Some),
            }
        };
        match answer.instrument(self.call.watch.span()).await {
            Ok(None) => Ok(None),
            Ok(Some(done)) => {
                self.call.watch.replayed();
                Ok(Some(done.into_inner()))
            }
            Err(error) => {
                self.call.watch.conclude_as(Conclusion::of_error(error.kind()));
                Err(error)
            }
        }
    }

    /// As [`Call::lease`](super::Call::lease).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Cancel safety
    ///
    /// As there.
    pub async fn lease<T>(self, recovery: Recovery) -> Result<Leased<S, T>, Error>
    where
        T: Serialize + DeserializeOwned,
    {
        let Self { shared, call } = self;
        hold(shared, call, recovery).await
    }

    /// As [`Call::begin`](super::Call::begin).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Cancel safety
    ///
    /// As there.
    pub async fn begin<T>(self) -> Result<Begun<S, T>, Error>
    where
        S: TransactionalStore,
        T: Serialize + DeserializeOwned,
    {
        let Self { shared, call } = self;
        let mut retrying = Retrying::new(&call);
        loop {
            let error = match enter(&shared, &call).await {
                Err(error) => error,
                Ok(Entry::Another) => mismatch_of_running(&shared, &call),
                Ok(Entry::Called(called)) => {
                    match probe_and_claim(&shared, &call).instrument(call.watch.span()).await {
                        Ok(Claimed::Won {
                            transaction,
                            claim,
                            won,
                        }) => {
                            if let Some(called) = &called {
                                called.runs();
                            }
                            let guard = Guard::new(shared, call, called, transaction, claim, won);
                            return Ok(Begun::Execute(guard));
                        }
                        Ok(Claimed::TurnedAway(reply)) => match turned_away(&shared, &call, reply).await {
                            Ok(done) => {
                                call.watch.replayed();
                                return Ok(Begun::Replayed(done.into_inner()));
                            }
                            Err(error) => error,
                        },
                        Err(error) => error,
                    }
                }
            };
            if let Err(error) = retrying.again(&shared, &call, error, true).await {
                call.watch.conclude_as(Conclusion::of_error(error.kind()));
                return Err(error);
            }
        }
    }
}
