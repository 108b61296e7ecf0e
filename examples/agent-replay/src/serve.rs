//! One pass: every recorded call, in order, each through one transaction or, in leased mode, one call of the airline.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use idem::{Basis, Effect, EffectError, ErrorKind, Idem, IdempotencyKey, Recovery, Tenant, TransactionalStore};
use serde::{Deserialize, Serialize};

use crate::airline::{Desk, Handler};
use crate::patience::Patience;
use crate::recording::Call;
use crate::remote::{Airline, ToolFailed};
use crate::service::Order;
use crate::tools::any_tool;

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The effect happened now.
    Executed,
    /// The effect stands already; the recorded outcome was given again.
    Replayed,
    Refused(Refusal),
    /// The tool failed. Its transaction was rolled back and nothing is on record.
    Failed,
}

/// Why a call was refused before its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The effect stands with another payload.
    Mismatch,
    /// Another key holds the place; the step is the one that took it.
    OncePer { holder: String, step: Option<String> },
    /// The effect was undone by a person and does not come back by itself.
    Revoked,
}

/// What is the same for every call of a pass.
pub struct Settings {
    pub tenant: Tenant,
    /// On what the model's decisions rest: into the ledger, never into a key.
    pub basis: Basis,
    /// Whether a booking takes the place of its customer's request, user, origin and destination.
    pub once_per: bool,
    /// Who carries the effects out in leased mode. Without, they are rows of the same transaction.
    pub airline: Option<Airline>,
}

/// Serves all calls and tells each answer with the index of its call.
pub async fn pass<S>(
    idem: &Idem<S>,
    settings: &Settings,
    calls: &[Call],
    mut tell: impl FnMut(usize, Answer),
) -> Result<(), Stopped>
where
    S: TransactionalStore,
    S::Connection: Desk,
{
    let pass = Pass { idem, settings, calls };
    for (index, call) in calls.iter().enumerate() {
        let answer = pass
            .answer(call)
            .await
            .map_err(|cause| Stopped { line: call.line, cause })?;
        tell(index, answer);
    }
    Ok(())
}

pub(crate) struct Pass<'a, S> {
    pub(crate) idem: &'a Idem<S>,
    pub(crate) settings: &'a Settings,
    pub(crate) calls: &'a [Call],
}

impl<S> Pass<'_, S>
where
    S: TransactionalStore,
    S::Connection: Desk,
{
    /// Serves one call. Another process may be serving the same one at this moment, or may have died while it did.
    async fn answer(&self, call: &Call) -> Result<Answer, idem::Error> {
        let mut patience = Patience::new();
        loop {
            let error = match self.dispatch(call).await {
                Ok(answer) => {
                    if answer == Answer::Failed && self.settings.airline.is_some() {
                        self.give_back(call).await?;
                    }
                    return Ok(answer);
                }
                Err(error) => error,
            };
            match refusal(&error, &call.key) {
                Some(Answer::Refused(Refusal::Mismatch))
                    if self.settings.airline.is_some() && self.finish_other(call, &mut patience).await? => {}
                Some(answer) => return Ok(answer),
                None => patience.wait(error).await?,
            }
        }
    }

    pub(crate) async fn dispatch(&self, call: &Call) -> Result<Answer, idem::Error> {
        any_tool!(&call.tool, input => self.serve(call, input).await)
    }

    /// The claim, the handler's rows, the outcome and the ledger entry in one commit; or the claim, the airline's answer,
    /// and then the outcome and the ledger entry.
    async fn serve<I: Handler>(&self, call: &Call, input: &I) -> Result<Answer, idem::Error> {
        let mut attempt = self.idem.call(input).tenant(&self.settings.tenant);
        if let Some(place) = call.place.as_ref().filter(|_| self.settings.once_per) {
            attempt = attempt.once_per(place.clone());
        }
        let attempt = attempt
            .step_id(call.step_id())
            .run_id(call.run_id())
            .basis(self.settings.basis.clone())
            .wait(WAIT);
        let done = match self.settings.airline {
            None => {
                let effect = async |connection: &mut S::Connection| {
                    if call.failed() {
                        return Err(EffectError::from(ToolFailed(call.result.clone())));
                    }
                    input.handle(call.key.as_str(), connection).await?;
                    Ok(call.result.clone())
                };
                attempt.transaction(effect).await
            }
            Some(airline) => {
                let order = Order::of(call);
                let effect = async move |effect: Effect| airline.carry_out(&effect, order).await;
                attempt.run(RECOVERY, effect).await
            }
        };
        match done {
            Ok(done) if done.is_replayed() => Ok(Answer::Replayed),
            Ok(_) => Ok(Answer::Executed),
            Err(error) if error.effect_ref::<ToolFailed>().is_some() => Ok(Answer::Failed),
            Err(error) => Err(error),
        }
    }
}

/// The errors that answer a call rather than stop the pass.
pub(crate) fn refusal(error: &idem::Error, key: &IdempotencyKey) -> Option<Answer> {
    match error.kind() {
        ErrorKind::Mismatch => Some(Answer::Refused(Refusal::Mismatch)),
        ErrorKind::Revoked => Some(Answer::Refused(Refusal::Revoked)),
        ErrorKind::AlreadyExecuted => Some(match error.entry() {
            Some(holder) if holder.key != key.as_str() => Answer::Refused(Refusal::OncePer {
                holder: holder.key.clone(),
                step: holder.step_id.clone(),
            }),
            // The record is gone and the ledger remembers: the effect stands, only its result cannot be given again.
            _ => Answer::Replayed,
        }),
        ErrorKind::ResultUnavailable => Some(Answer::Replayed),
        _ => None,
    }
}

/// An error that ends the pass, with the line of the call that met it.
#[derive(Debug)]
pub struct Stopped {
    line: usize,
    cause: idem::Error,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call on line {} cannot be served", self.line)
    }
}

impl StdError for Stopped {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.cause)
    }
}

/// How long a call waits inside idem for the owner of its key.
const WAIT: Duration = Duration::from_secs(5);

/// After the process died with a claim, the next attempt sends the same downstream key. The airline knows it for ever; a
/// month is more than anyone waits before the work is started again.
const RECOVERY: Recovery = Recovery::Rerun {
    remembered_for: Duration::from_secs(30 * 24 * 3600),
};
