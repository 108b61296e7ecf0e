//! An effect inside the caller's own transaction.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attempt::{encode, failed, limit, lost, place_was_free};
use super::effect_error::Verdict;
use super::prepared::{Prepared, Won};
use super::telemetry::point;
use super::{Done, EffectError, Shared, answer, scope, send};
use crate::error::Error;
use crate::record::Outcome;
use crate::state::Reply;
use crate::store::{Completed, StoreClaim, TransactionalStore};

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
    let store = &shared.store;
    let mut savepoint = send(store.nest(connection)).await?;
    let (claim, won) = match claim(shared, call, &mut savepoint).await? {
        Ok(claimed) => claimed,
        Err(reply) => return turned_away(shared, call, savepoint, reply).await,
    };
    match scope::inside(call.key(), effect(savepoint.as_mut())).await {
        Ok(value) => {
            point("effect_done");
            let outcome = encode(shared, call, &value)?;
            match record::<S>(shared, call, savepoint, &claim, won, outcome).await? {
                Completed::PlaceTaken => place_taken(shared, call, connection).await,
                _ => Ok(Done::Executed(value)),
            }
        }
        Err(error) => {
            send(store.rollback(savepoint)).await?;
            match error.into_verdict() {
                Verdict::Final(outcome) => decline(shared, call, connection, outcome).await,
                verdict => Err(failed(store, call, verdict, false)),
            }
        }
    }
}

async fn claim<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    savepoint: &mut S::Transaction<'_>,
) -> Result<Result<(StoreClaim, Won), Reply>, Error> {
    let claim = call.claim()?;
    match send(shared.store.claim_in(savepoint, &claim)).await? {
        Reply::Claimed { generation, attempt } => {
            point("claimed");
            Ok(Ok((claim, Won { generation, attempt })))
        }
        reply => Ok(Err(reply)),
    }
}

/// Completes the claim and releases the savepoint, or rolls back to it.
async fn record<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    mut savepoint: S::Transaction<'_>,
    claim: &StoreClaim,
    won: Won,
    outcome: Outcome,
) -> Result<Completed, Error> {
    let completion = call.completion(claim, won, outcome)?;
    match send(shared.store.complete_in(&mut savepoint, &completion)).await {
        Ok(Completed::Done) => {
            point("completed");
            send(shared.store.commit(savepoint)).await?;
            Ok(Completed::Done)
        }
        Ok(Completed::PlaceTaken) => {
            send(shared.store.rollback(savepoint)).await?;
            Ok(Completed::PlaceTaken)
        }
        Ok(Completed::Stale) => {
            send(shared.store.rollback(savepoint)).await?;
            Err(lost(call))
        }
        Err(error) => {
            let _ = send(shared.store.rollback(savepoint)).await;
            Err(error)
        }
    }
}

/// Another key took the place while the effect ran, which is rolled back. A new claim finds it.
async fn place_taken<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    connection: &mut S::Connection,
) -> Result<Done<T>, Error> {
    let mut savepoint = send(shared.store.nest(connection)).await?;
    match claim(shared, call, &mut savepoint).await? {
        Err(reply) => turned_away(shared, call, savepoint, reply).await,
        Ok(_) => {
            send(shared.store.rollback(savepoint)).await?;
            Err(place_was_free(call))
        }
    }
}

/// Answers a claim that was not won, after the refusal is on record, and ends the savepoint.
async fn turned_away<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    mut savepoint: S::Transaction<'_>,
    reply: Reply,
) -> Result<Done<T>, Error> {
    if let Some(reason) = answer::refusal_of(&reply)
        && shared.store.capabilities().ledger
    {
        send(shared.store.append_in(&mut savepoint, &call.refusal(reason)?)).await?;
        send(shared.store.commit(savepoint)).await?;
    } else {
        // A claim that gave up waiting for a lock has aborted everything since the savepoint.
        send(shared.store.rollback(savepoint)).await?;
    }
    answer::answer(reply, call)
}

async fn decline<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    connection: &mut S::Connection,
    mut outcome: Outcome,
) -> Result<Done<T>, Error> {
    limit(shared, call, &mut outcome);
    let mut savepoint = send(shared.store.nest(connection)).await?;
    match claim(shared, call, &mut savepoint).await? {
        Ok((claim, won)) => {
            record::<S>(shared, call, savepoint, &claim, won, outcome.clone()).await?;
            Err(answer::declined(call, outcome))
        }
        Err(reply) => turned_away(shared, call, savepoint, reply).await,
    }
}
