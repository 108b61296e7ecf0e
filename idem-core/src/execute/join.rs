//! An effect inside the caller's own transaction.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attempt::{encode, failed, limit, lost, point};
use super::effect_error::Verdict;
use super::prepared::{Prepared, Won};
use super::{Done, EffectError, Shared, answer, scope};
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
    let mut savepoint = store.nest(connection).await?;
    let (claim, won) = match claim(shared, call, &mut savepoint).await? {
        Ok(claimed) => claimed,
        Err(reply) => {
            if let Some(reason) = answer::refusal_of(&reply) {
                store.refuse(&mut savepoint, &call.refusal(reason)?).await?;
            }
            store.commit(savepoint).await?;
            return answer::answer(reply, call);
        }
    };
    match scope::inside(call.key(), effect(savepoint.as_mut())).await {
        Ok(value) => {
            point("effect_done");
            let outcome = encode(shared, call, &value)?;
            record::<S>(shared, call, savepoint, &claim, won, outcome).await?;
            Ok(Done::Executed(value))
        }
        Err(error) => {
            store.rollback(savepoint).await?;
            match error.into_verdict() {
                Verdict::Final(outcome) => decline(shared, call, connection, outcome).await,
                verdict => Err(failed(store, call, verdict)),
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
    match shared.store.claim(savepoint, &claim).await? {
        Reply::Claimed { generation, attempt } => {
            point("claimed");
            Ok(Ok((claim, Won { generation, attempt })))
        }
        reply => Ok(Err(reply)),
    }
}

async fn record<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    mut savepoint: S::Transaction<'_>,
    claim: &StoreClaim,
    won: Won,
    outcome: Outcome,
) -> Result<(), Error> {
    let completion = call.completion(claim, won, outcome)?;
    let holder = match shared.store.complete(&mut savepoint, &completion).await? {
        Completed::Done => {
            point("completed");
            return shared.store.commit(savepoint).await;
        }
        Completed::Stale => {
            shared.store.rollback(savepoint).await?;
            return Err(lost(call));
        }
        Completed::PlaceTaken(holder) => holder,
    };
    shared.store.rollback(savepoint).await?;
    match holder {
        Some(holder) => Err(answer::place_taken(call, holder)),
        None => match shared.store.view(call.key(), call.place().as_ref()).await?.ledger.place {
            Some(holder) => Err(answer::place_taken(call, holder)),
            None => Err(lost(call)),
        },
    }
}

async fn decline<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    connection: &mut S::Connection,
    mut outcome: Outcome,
) -> Result<Done<T>, Error> {
    limit(shared, call, &mut outcome);
    let mut savepoint = shared.store.nest(connection).await?;
    match claim(shared, call, &mut savepoint).await? {
        Ok((claim, won)) => {
            record::<S>(shared, call, savepoint, &claim, won, outcome.clone()).await?;
            Err(answer::declined(call, outcome))
        }
        Err(reply) => {
            shared.store.commit(savepoint).await?;
            answer::answer(reply, call)
        }
    }
}
