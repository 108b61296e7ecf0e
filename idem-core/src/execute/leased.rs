use std::any::Any;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::task::JoinError;
use tracing::Instrument as _;

use super::attempt::{Entry, enter, probe, turned_away};
use super::effect::Effect;
use super::effect_error::Verdict;
use super::keeping::keep_what_happened;
use super::lease::{self, Held};
use super::leased_guard::{Leased, LeasedGuard};
use super::prepared::Prepared;
use super::registry::Called;
use super::retrying::Retrying;
use super::telemetry::point;
use super::tracker::Token;
use super::{Call, Done, EffectError, Shared, answer, scope};
use crate::error::{Error, ErrorKind, Retry};
use crate::key::{IdempotencyKey, Idempotent, IdempotentFields, TenantKnown};
use crate::ledger::LedgerView;
use crate::observe::Conclusion;
use crate::record::{Outcome, OutcomeKind, Recovery};
use crate::state::{Claim, Event, Reply, transition};
use crate::store::{Completed, Store, View};

impl<S, I: IdempotentFields + ?Sized, Source> Call<'_, S, I, Source> {
    /// Runs an effect outside of the database under a claim with a lease.
    ///
    /// The claim is committed first, together with an `intended` entry of the ledger. Then `effect` runs
    /// in a task of its own, which is not cancelled when the caller goes away, while the lease is renewed;
    /// its outcome is recorded by token when it is known. `effect` has to pass
    /// [`Effect::downstream_key`] on, or whatever else the downstream recognises a repeat by.
    ///
    /// `recovery` says what may happen when an attempt ends without telling: its process was killed, it
    /// panicked, or it returned an error that says neither [`final_`](EffectError::final_) nor
    /// [`nothing_happened`](EffectError::nothing_happened). With [`Recovery::Rerun`] the next attempt runs
    /// again, for as long as the downstream remembers the key; with [`Recovery::Hold`], and after that
    /// time, the outcome is unknown and nothing runs until somebody has said what happened. Of the
    /// recovery that is stored with the claim and that of this call the stricter one counts.
    ///
    /// # Errors
    ///
    /// As [`transaction`](Call::transaction), and
    ///
    /// - [`OutcomeUnknown`](ErrorKind::OutcomeUnknown): the effect, now or in an earlier attempt, may have
    ///   happened; also when it happened and could not be recorded.
    /// - [`Effect`](ErrorKind::Effect): nothing happened, or the call may be sent again at once
    ///   ([`Recovery::Rerun`]).
    ///
    /// # Cancel safety
    ///
    /// Before the claim is sent nothing has happened. From then on the effect may run, and runs to its
    /// end; the next call finds out. [`Idem::drain`](super::Idem::drain) waits for such effects.
    pub async fn run<T, F, Fut>(self, recovery: Recovery, effect: F) -> Result<Done<T>, Error>
    where
        S: Store,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce(Effect) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, EffectError>> + Send + 'static,
    {
        scope::check_outside()?;
        let (shared, call) = self.prepare()?;
        call.check_recovery(recovery)?;
        let call = Arc::new(call);
        match acquire(shared, &call, recovery).await? {
            Acquired::Replayed(value) => Ok(Done::Replayed(value)),
            Acquired::Held(held, started) => {
                if let Some(started) = started {
                    started.say();
                }
                let token = shared.tracker.token();
                let span = call.watch.span();
                let work = work(Arc::clone(shared), call, held, effect, token).instrument(span);
                match tokio::spawn(work).await {
                    Ok(result) => result,
                    Err(join) => Err(Error::new(
                        ErrorKind::OutcomeUnknown,
                        "the runtime shut down while the effect ran; the claim is left to the end of its lease",
                    )
                    .with_source(join)),
                }
            }
        }
    }

    /// Claims the key with a lease and hands over a guard, for outside effects that do not fit a closure.
    ///
    /// The lease is renewed in a task of its own. Dropping the guard means that it is not known what
    /// happened.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), but for those of the effect.
    ///
    /// # Cancel safety
    ///
    /// A claim whose caller went away is left to the end of its lease.
    pub async fn lease<T>(self, recovery: Recovery) -> Result<Leased<S, T>, Error>
    where
        S: Store,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned,
    {
        self.ready()?.lease(recovery).await
    }
}

/// Claims with a lease and hands over a guard.
pub(super) async fn hold<S: Store, T: Serialize + DeserializeOwned>(
    shared: Arc<Shared<S>>,
    call: Arc<Prepared>,
    recovery: Recovery,
) -> Result<Leased<S, T>, Error> {
    call.check_recovery(recovery)?;
    match acquire(&shared, &call, recovery).await? {
        Acquired::Replayed(value) => Ok(Leased::Replayed(value)),
        Acquired::Held(held, started) => {
            if let Some(started) = started {
                started.say();
            }
            Ok(Leased::Execute(LeasedGuard::new(shared, call, held)))
        }
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "it is matched and taken apart at once; a box would cost every call"
)]
enum Acquired<T> {
    Held(Held, Option<Started>),
    Replayed(T),
}

/// Claims, or waits for another attempt as long as the call allows.
async fn acquire<S: Store, T: DeserializeOwned>(
    shared: &Arc<Shared<S>>,
    call: &Arc<Prepared>,
    recovery: Recovery,
) -> Result<Acquired<T>, Error> {
    let acquired = wait_and_claim(shared, call, recovery).await;
    match &acquired {
        Ok(Acquired::Held(held, _)) => call.watch.leased(held.attempt.won.attempt),
        Ok(Acquired::Replayed(_)) => call.watch.replayed(),
        Err(error) => call.watch.conclude_as(Conclusion::of_error(error.kind())),
    }
    acquired
}

async fn wait_and_claim<S: Store, T: DeserializeOwned>(
    shared: &Arc<Shared<S>>,
    call: &Arc<Prepared>,
    recovery: Recovery,
) -> Result<Acquired<T>, Error> {
    let mut retrying = Retrying::new(call);
    loop {
        let error = match enter(shared, call).await {
            Err(error) => error,
            Ok(entry) => {
                // The claim of what runs is committed, so the store judges.
                let called = match entry {
                    Entry::Called(called) => called,
                    Entry::Another => None,
                };
                let probed = match call.probe {
                    true => Box::pin(probe(shared, call)).await?,
                    false => None,
                };
                let claimed = match probed {
                    Some(reply) => Err(reply),
                    None => claim(shared, call, recovery, called).await?,
                };
                match claimed {
                    Ok((held, started)) => return Ok(Acquired::Held(held, started)),
                    // Boxed, so that a claim which is won is not as large as what it spares.
                    Err(reply) => match Box::pin(turned_away(shared, call, reply)).await {
                        Ok(done) => return Ok(Acquired::Replayed(done.into_inner())),
                        Err(error) => error,
                    },
                }
            }
        };
        retrying.again(shared, call, error, false).await?;
    }
}

/// Says to the task that claimed that the claim is in good hands.
struct Started(oneshot::Sender<()>);

impl Started {
    fn say(self) {
        // The task waits for it; if it is gone, the runtime is shutting down.
        let _ = self.0.send(());
    }
}

/// Claims in a task of its own. A caller who goes away before it has taken the claim over leaves nothing behind: nothing
/// was sent, so the claim is given back.
async fn claim<S: Store>(
    shared: &Arc<Shared<S>>,
    call: &Arc<Prepared>,
    recovery: Recovery,
    called: Option<Called>,
) -> Result<Result<(Held, Option<Started>), Reply>, Error> {
    if call.detached {
        let claimed = lease::claim(shared, call, recovery, called).await?;
        return Ok(claimed.map(|held| (held, None)));
    }
    Box::pin(claim_apart(shared, call, recovery, called)).await
}

async fn claim_apart<S: Store>(
    shared: &Arc<Shared<S>>,
    call: &Arc<Prepared>,
    recovery: Recovery,
    called: Option<Called>,
) -> Result<Result<(Held, Option<Started>), Reply>, Error> {
    let (answer, answered) = oneshot::channel();
    let token = shared.tracker.token();
    let task = {
        let (shared, call) = (Arc::clone(shared), Arc::clone(call));
        async move {
            let _token = token;
            let held = match lease::claim(&shared, &call, recovery, called).await {
                Ok(Ok(held)) => held,
                other => return drop(answer.send(other.map(|claimed| claimed.map(|held| (held, None))))),
            };
            let attempt = held.attempt.clone();
            let (started, has_started) = oneshot::channel();
            let delivered = answer.send(Ok(Ok((held, Some(Started(started))))));
            if delivered.is_err() || has_started.await.is_err() {
                drop(delivered);
                let given_back = match attempt.vouches_for_all() {
                    true => attempt.release(&shared, &call).await,
                    false => attempt.fail(&shared, &call).await,
                };
                if let Err(error) = given_back {
                    tracing::warn!(key = call.key().short(), error = %error, "a claim that nobody waited for is left to the end of its lease");
                }
            }
        }
    };
    tokio::spawn(task.instrument(call.watch.span()));
    match answered.await {
        Ok(Ok(Ok((held, started @ Some(_))))) => Ok(Ok((held, started))),
        Ok(Ok(Err(reply))) => Ok(Err(reply)),
        Ok(Err(error)) => Err(error),
        Ok(Ok(Ok((_, None)))) | Err(_) => Err(Error::new(
            ErrorKind::Store,
            "the runtime shut down while the key was claimed",
        )
        .with_retry(Retry::Later)),
    }
}

/// Runs an effect to its end and records what came of it.
async fn work<S, T, F, Fut>(
    shared: Arc<Shared<S>>,
    call: Arc<Prepared>,
    held: Held,
    effect: F,
    token: Token,
) -> Result<Done<T>, Error>
where
    S: Store,
    T: Serialize + DeserializeOwned + Send + 'static,
    F: FnOnce(Effect) -> Fut + Send + 'static,
    Fut: Future<Output = Result<T, EffectError>> + Send + 'static,
{
    // Dropped in the order of this tuple: who drains, and calls again then, must not find the key in use.
    let whole = (held, token);
    let held = &whole.0;
    let handle = held.effect();
    let body = {
        let (key, handle): (IdempotencyKey, Effect) = (call.key().clone(), handle.clone());
        async move { scope::inside(&key, effect(handle)).await }
    };
    // A task of its own, so that a panic in it ends it alone.
    let mut body = tokio::spawn(body.in_current_span());
    let ended = {
        let mut renewing = pin!(held.lease.clone().keep_alive(Arc::clone(&shared)));
        std::future::poll_fn(|context| match Pin::new(&mut body).poll(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => {
                let _ = renewing.as_mut().poll(context);
                Poll::Pending
            }
        })
        .await
    };
    let result = match ended {
        Ok(Ok(value)) => {
            point("effect_done");
            succeed(&shared, &call, held, &handle, value).await
        }
        Ok(Err(error)) => report(&shared, &call, held, &handle, error.into_verdict()).await,
        Err(join) => report(&shared, &call, held, &handle, Verdict::Failed(panicked(join).into())).await,
    };
    call.watch.conclude(&result);
    result
}

/// Records the result of an effect that happened.
pub(super) async fn succeed<S: Store, T: Serialize + DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    held: &Held,
    effect: &Effect,
    value: T,
) -> Result<Done<T>, Error> {
    let outcome = Outcome::encode(OutcomeKind::Success, &value).unwrap_or_else(|error| {
        // It happened, so it is recorded; what cannot be had again is its result.
        tracing::warn!(action = call.action, key = call.key().short(), error = %error, "the outcome cannot be written as JSON; repeats will not get it");
        Outcome::unavailable(OutcomeKind::Success)
    });
    let kept = keep_what_happened(call, outcome);
    match held.attempt.complete(shared, call, effect, kept).await {
        Ok(Completed::Done) => Ok(Done::Executed(value)),
        Ok(Completed::Stale | Completed::PlaceTaken) => what_stands(shared, call, held).await,
        Err(error) => Err(unrecorded(call, error)),
    }
}

/// Reports an effect that did not succeed.
pub(super) async fn report<S: Store, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    held: &Held,
    effect: &Effect,
    verdict: Verdict,
) -> Result<Done<T>, Error> {
    let outcome = match verdict {
        Verdict::Final(outcome) => outcome,
        Verdict::Unencodable(_) => Outcome::unavailable(OutcomeKind::Declined),
        Verdict::NothingHappened(source) if !held.attempt.vouches_for_all() => {
            let message = format!(
                "the effect of `{}` failed, and nothing happened in this attempt; an earlier one may have had it, so the call may be sent again under the same downstream key",
                call.action
            );
            return match held.attempt.fail(shared, call).await {
                Ok(Reply::Done) => Err(Error::new(ErrorKind::Effect, message)
                    .with_source(source)
                    .with_retry(Retry::Later)),
                Ok(_) => what_stands(shared, call, held).await,
                Err(error) => Err(unrecorded(call, error)),
            };
        }
        Verdict::NothingHappened(source) => {
            let message = format!(
                "the effect of `{}` failed, and nothing happened; send the call again when the cause is gone",
                call.action
            );
            return match held.attempt.release(shared, call).await {
                Ok(Reply::Done) => Err(Error::new(ErrorKind::Effect, message)
                    .with_source(source)
                    .with_retry(Retry::Later)),
                Ok(_) => what_stands(shared, call, held).await,
                // The lease ends by itself.
                Err(error) => Err(unrecorded(call, error)),
            };
        }
        Verdict::Failed(source) => {
            return match held.attempt.fail(shared, call).await {
                Ok(Reply::Done) => {
                    let message = format!(
                        "the effect of `{}` failed and may have happened; the call may be sent again, under the same downstream key",
                        call.action
                    );
                    Err(Error::new(ErrorKind::Effect, message)
                        .with_source(source)
                        .with_retry(Retry::Later))
                }
                Ok(Reply::Stale) => what_stands(shared, call, held).await,
                Ok(_) | Err(_) => {
                    let message = format!(
                        "the effect of `{}` failed and may have happened; find out and resolve it before anything is run again",
                        call.action
                    );
                    Err(Error::new(ErrorKind::OutcomeUnknown, message).with_source(source))
                }
            };
        }
    };
    let kept = keep_what_happened(call, outcome.clone());
    match held.attempt.complete(shared, call, effect, kept).await {
        Ok(Completed::Done) => Err(answer::declined(call, outcome)),
        Ok(Completed::Stale | Completed::PlaceTaken) => what_stands(shared, call, held).await,
        Err(error) => Err(unrecorded(call, error)),
    }
}

/// What a fenced-out owner is told: not its own result, but what is on record.
async fn what_stands<S: Store, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    held: &Held,
) -> Result<Done<T>, Error> {
    let View { record, ledger, now } = shared.store.view(call.key(), None).await?;
    let claim = Claim {
        owner: crate::record::OwnerToken::random()?,
        ..held.attempt.claim.claim.clone()
    };
    let ledger = LedgerView { place: None, ..ledger };
    let (_, reply) = transition(record, &ledger, Event::Claim(claim), now).map_err(|illegal| {
        Error::new(ErrorKind::Corrupt, "the stored record contradicts itself").with_source(illegal)
    })?;
    match reply {
        Reply::Claimed { .. } | Reply::Aliased(_) => Err(claim_lost(call)),
        reply => answer::answer(reply, call),
    }
}

/// Nothing stands: somebody has said that nothing happened, or another attempt was lost as well.
fn claim_lost(call: &Prepared) -> Error {
    let message = format!(
        "the claim of key {} was lost before its outcome was recorded, and no outcome is on record; what this attempt of `{}` did outside stands, so find out before it is sent again",
        call.key().short(),
        call.action
    );
    Error::new(ErrorKind::LostClaim, message)
}

fn unrecorded(call: &Prepared, error: Error) -> Error {
    let message = format!(
        "the effect of `{}` has ended, but what came of it could not be recorded; its claim stands to the end of its lease",
        call.action
    );
    Error::new(ErrorKind::OutcomeUnknown, message).with_source(error)
}

fn panicked(join: JoinError) -> String {
    let payload: Box<dyn Any + Send> = match join.try_into_panic() {
        Ok(payload) => payload,
        Err(join) => return format!("the effect was cancelled: {join}"),
    };
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("the effect panicked: {}", text.unwrap_or("no message"))
}
