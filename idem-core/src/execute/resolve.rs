use serde::Serialize;

use super::prepared::Won;
use super::{Call, scope};
use crate::error::{Error, ErrorKind};
use crate::key::{Idempotent, IdempotentFields, TenantKnown};
use crate::record::{Outcome, OutcomeKind, OwnerToken};
use crate::state::{Reply, Settlement};
use crate::store::Store;

/// What somebody found out about an effect whose outcome was unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution<T> {
    /// It happened, with this result; repeats get it.
    Happened(T),
    /// It did not happen; the next call runs it.
    DidNotHappen,
}

impl<S, I: IdempotentFields + ?Sized, Source> Call<'_, S, I, Source> {
    /// Says what became of an effect whose outcome is unknown.
    ///
    /// `actor` is who says so: a person, or the reconciliation that asked the downstream. The ledger keeps
    /// it. The owner of the attempt is fenced out: what it may still report changes nothing.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when the outcome is not unknown or `actor` is empty, else as
    /// [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// The resolution takes effect or not.
    pub async fn resolve<T: Serialize>(self, resolution: Resolution<T>, actor: &str) -> Result<(), Error>
    where
        S: Store,
        I: Idempotent + TenantKnown<Source>,
    {
        scope::check_outside()?;
        if actor.trim().is_empty() {
            return Err(Error::new(
                ErrorKind::Misuse,
                "a resolution needs an actor: who says what happened",
            ));
        }
        let (shared, call) = self.prepare()?;
        let outcome = match resolution {
            Resolution::Happened(value) => Some(Outcome::encode(OutcomeKind::Success, &value).map_err(|source| {
                Error::misuse(
                    "the outcome cannot be written as JSON, so no repeat could get it; nothing was recorded",
                    source,
                )
            })?),
            Resolution::DidNotHappen => None,
        };
        let view = shared.store.view(call.key(), None).await?;
        let Some(record) = view.record else {
            return Err(not_unknown("there is no record of this key"));
        };
        if record.fingerprint != call.derived.fingerprint {
            return Err(not_unknown("the key is bound to another request"));
        }
        let won = Won {
            generation: record.generation,
            attempt: record.attempt,
        };
        let entries = call.resolution(won, outcome.as_ref(), actor)?;
        let event = Settlement::Resolve {
            outcome,
            owner: OwnerToken::random()?,
            retention: call.retention,
        };
        match shared.store.settle(call.key(), &event, &entries).await? {
            Reply::Done => Ok(()),
            Reply::Refused(why) => Err(not_unknown(why)),
            reply => Err(Error::new(
                ErrorKind::Corrupt,
                format!("the store answered a resolution with {reply:?}"),
            )),
        }
    }
}

fn not_unknown(why: &str) -> Error {
    Error::new(ErrorKind::Misuse, format!("nothing was resolved: {why}"))
}
