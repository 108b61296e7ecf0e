//! An effect inside the caller's own transaction, under a savepoint.
//!
//! A savepoint that was opened is ended in every case but one, a future that is dropped: an open one would hold a claim
//! that cannot be committed. So the work under it only says how it shall end, and [`end`] ends it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attempt::{encode, failed, lost, place_was_free};
use super::effect_error::Verdict;
use super::keeping::keep;
use super::prepared::{Prepared, Won};
use super::telemetry::point;
use super::{Done, EffectError, Shared, answer, scope, send};
use crate::codec::Kept;
use crate::error::{Error, ErrorKind, Retry};
use crate::record::Outcome;
use crate::state::Reply;
use crate::store::{Completed, StoreClaim, TransactionalStore, atomic};

/// How the savepoint shall end, and what follows.
enum End<T> {
    Release(T),
    RollBack(T),
}

/// What follows an attempt.
enum Next<T> {
    Answer(Result<Done<T>, Error>),
    /// The effect ended in a final error.
    Decline(Outcome),
    /// Another key took the place while the effect ran.
    PlaceTaken,
}

pub(super) async fn join<S, T, F>(
    shared: &Shared<S>,
    call: &Prepared,
    connection: &mut S::Connection,
    effect: F,
) -> Result<Done<T>, Error>
where
    S: TransactionalStore,
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError>,
{
    let (mut savepoint, claimed) = loop {
        scope::check_not_inside(call.key())?;
        let mut savepoint = send(shared.store.nest(connection)).await?;
        match claim(shared, call, &mut savepoint).await {
            Ok(Err(Reply::Aliased(key))) => {
                // What was claimed beside it is undone.
                end(shared, savepoint, Ok(End::RollBack(()))).await?;
                call.turn_to(&key)?;
            }
            claimed => break (savepoint, claimed),
        }
    };
    let ending = match claimed {
        Ok(claimed) => attempt(shared, call, &mut savepoint, claimed, effect).await,
        Err(error) => Err(error),
    };
    match end(shared, savepoint, ending).await? {
        Next::Answer(result) => result,
        Next::Decline(outcome) => {
            let mut savepoint = send(shared.store.nest(connection)).await?;
            let ending = decline(shared, call, &mut savepoint, outcome).await;
            end(shared, savepoint, ending).await?
        }
        Next::PlaceTaken => {
            let mut savepoint = send(shared.store.nest(connection)).await?;
            let ending = find_holder(shared, call, &mut savepoint).await;
            end(shared, savepoint, ending).await?
        }
    }
}

/// Ends the savepoint as its work says, or rolls back to it where that failed.
async fn end<S: TransactionalStore, T>(
    shared: &Shared<S>,
    savepoint: S::Transaction<'_>,
    ending: Result<End<T>, Error>,
) -> Result<T, Error> {
    match ending {
        Ok(End::Release(value)) => send(shared.store.commit(savepoint)).await.map(|()| value),
        Ok(End::RollBack(value)) => send(shared.store.rollback(savepoint)).await.map(|()| value),
        Err(error) => {
            // Why it failed matters more than whether the roll-back was acknowledged.
            let _ = send(shared.store.rollback(savepoint)).await;
            Err(error)
        }
    }
}

async fn attempt<S, T, F>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
    claimed: Result<(StoreClaim, Won), Reply>,
    effect: F,
) -> Result<End<Next<T>>, Error>
where
    S: TransactionalStore,
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError>,
{
    let (claim, won) = match claimed {
        Ok(claimed) => claimed,
        Err(reply) => {
            return turned_away(shared, call, savepoint, reply)
                .await
                .map(|end| end.then(Next::Answer));
        }
    };
    match scope::inside(call.key(), effect(savepoint.as_mut())).await {
        Ok(value) => {
            point("effect_done");
            let outcome = encode(call, &value)?;
            Ok(match complete(shared, call, savepoint, &claim, won, outcome).await? {
                Completed::Done => End::Release(Next::Answer(Ok(Done::Executed(value)))),
                Completed::PlaceTaken => End::RollBack(Next::PlaceTaken),
                Completed::Stale => End::RollBack(Next::Answer(Err(lost(call)))),
            })
        }
        Err(error) => Ok(End::RollBack(match error.into_verdict() {
            Verdict::Final(outcome) => Next::Decline(outcome),
            verdict => Next::Answer(Err(failed(&shared.store, call, verdict, false))),
        })),
    }
}

async fn claim<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
) -> Result<Result<(StoreClaim, Won), Reply>, Error> {
    let claim = call.claim()?;
    match atomic::claim_in(&shared.store, savepoint, &claim).await? {
        Reply::Claimed {
            generation, attempt, ..
        } => {
            point("claimed");
            call.watch.claimed(attempt);
            Ok(Ok((claim, Won { generation, attempt })))
        }
        reply => Ok(Err(reply)),
    }
}

async fn complete<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
    claim: &StoreClaim,
    won: Won,
    outcome: Kept,
) -> Result<Completed, Error> {
    let completion = call.completion(claim, won, outcome)?;
    let completed = send(shared.store.complete_in(savepoint, &completion)).await?;
    if completed == Completed::Done {
        point("completed");
    }
    Ok(completed)
}

/// Answers a claim that was not won, after the refusal is on record.
async fn turned_away<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
    reply: Reply,
) -> Result<End<Result<Done<T>, Error>>, Error> {
    match &reply {
        // Without advisory locks a claim may have given up waiting, which aborts what it stands in.
        Reply::InFlight { .. } => return Ok(End::RollBack(answer::answer(reply, call))),
        // Another build has put the effect on record under its other key in between.
        Reply::Aliased(_) => return Ok(End::RollBack(Err(moved(call)))),
        // The claim that this transaction sees is that of its own guard.
        Reply::OutcomeUnknown { .. } if shared.registry.runs(call.key()) => {
            return Ok(End::Release(Err(scope::asks_for_itself(call.key()))));
        }
        _ => {}
    }
    if let Some(reason) = answer::refusal_of(&reply)
        && call.ledger
        && shared.store.capabilities().ledger
    {
        send(shared.store.append_in(savepoint, &call.refusal(reason)?)).await?;
    }
    Ok(End::Release(answer::answer(reply, call)))
}

fn moved(call: &Prepared) -> Error {
    let message = format!(
        "key {} of `{}` was put on record under another key in between; run the transaction again",
        call.key().short(),
        call.action
    );
    Error::new(ErrorKind::Store, message).with_retry(Retry::Transaction)
}

/// Puts a final error on record; the effect and its claim are rolled back.
async fn decline<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
    outcome: Outcome,
) -> Result<End<Result<Done<T>, Error>>, Error> {
    let kept = keep(call, outcome.clone())?;
    let (claim, won) = match claim(shared, call, savepoint).await? {
        Ok(claimed) => claimed,
        Err(reply) => return turned_away(shared, call, savepoint, reply).await,
    };
    Ok(match complete(shared, call, savepoint, &claim, won, kept).await? {
        Completed::Done => End::Release(Err(answer::declined(call, outcome))),
        // A declined effect takes no place.
        Completed::Stale | Completed::PlaceTaken => End::RollBack(Err(lost(call))),
    })
}

/// Another key took the place while the effect ran, which is rolled back. A new claim finds it.
async fn find_holder<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
) -> Result<End<Result<Done<T>, Error>>, Error> {
    match claim(shared, call, savepoint).await? {
        Err(reply) => turned_away(shared, call, savepoint, reply).await,
        Ok(_) => Ok(End::RollBack(Err(place_was_free(call)))),
    }
}

impl<T> End<T> {
    fn then<U>(self, f: impl FnOnce(T) -> U) -> End<U> {
        match self {
            Self::Release(value) => End::Release(f(value)),
            Self::RollBack(value) => End::RollBack(f(value)),
        }
    }
}
