//! What a leased call needs beside `run`: claims are on record before their outcome is, so one may be found that nobody
//! works for any more.

use idem::{Error, ErrorKind, Resolution, Status, TransactionalStore};

use crate::airline::Desk;
use crate::patience::Patience;
use crate::recording::Call;
use crate::serve::{Answer, Pass, refusal};

impl<S> Pass<'_, S>
where
    S: TransactionalStore,
    S::Connection: Desk,
{
    /// After the airline has said no: sees to it that the claim does not bind the key.
    ///
    /// A first attempt released it. A later one could not, since it cannot speak for the earlier ones; the airline can: it
    /// knows the downstream key and has had no effect under it.
    pub(crate) async fn give_back(&self, call: &Call) -> Result<(), Error> {
        let mut patience = Patience::new();
        loop {
            let error = match self.did_not_happen(call).await {
                Ok(()) => return Ok(()),
                // Released, or taken over by another process, which will be told the same.
                Err(error) if error.kind() == ErrorKind::Misuse => return Ok(()),
                Err(error) => error,
            };
            patience.wait(error).await?;
        }
    }

    /// Lets the claim that stands in the way of `call` come to its end. Gives `false` where an effect stands in its way.
    ///
    /// It is of another call with the same key, and its process may be dead.
    pub(crate) async fn finish_other(&self, call: &Call, patience: &mut Patience) -> Result<bool, Error> {
        let view = self.idem.store().view(&call.key, None).await?;
        let Some(record) = view.record.filter(|record| record.fingerprint != call.fingerprint) else {
            return Ok(true);
        };
        let is_other = |other: &&Call| other.key == call.key && other.fingerprint == record.fingerprint;
        let Some(other) = self.calls.iter().find(is_other) else {
            return Ok(false);
        };
        match record.status {
            Status::Failed => return Ok(true),
            Status::InFlight => {}
            _ => return Ok(false),
        }
        match self.dispatch(other).await {
            Ok(Answer::Failed) => self.give_back(other).await?,
            Ok(_) => {}
            // A third one has the key meanwhile.
            Err(error) if refusal(&error, &other.key).is_some() => {}
            Err(error) => patience.wait(error).await?,
        }
        Ok(true)
    }

    async fn did_not_happen(&self, call: &Call) -> Result<(), Error> {
        let view = self.idem.peek(&call.key).await?;
        // Another request under the same key is no business of this call.
        let Some(record) = view.record.filter(|record| record.fingerprint == call.fingerprint) else {
            return Ok(());
        };
        let by_hand = self.idem.by_hand(
            "the airline",
            "the downstream knows the key and has had no effect under it",
        );
        let verdict = Resolution::<String>::DidNotHappen;
        by_hand.resolve(&call.key, record.attempt_id(), verdict).await
    }
}
