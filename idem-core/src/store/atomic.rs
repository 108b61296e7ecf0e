//! The atomic steps of [`Store`](super::Store), made of the parts of a [`TransactionalStore`].
//!
//! A store that has transactions writes its `Store` methods as one call of these.

use super::{Completed, Completion, StoreClaim, TransactionalStore};
use crate::error::{Error, ErrorKind, Retry};
use crate::execute::send;
use crate::key::{IdempotencyKey, Tenant};
use crate::ledger::{Entry, EntryKind};
use crate::record::Outcome;
use crate::state::{Reply, Settlement};

/// How often a step is sent again when the database undid it or its answer was lost. Every step is a
/// no-op when it has taken effect already.
const RESENDS: u32 = 10;

/// [`Store::claim`](super::Store::claim).
///
/// # Errors
///
/// As there.
pub async fn claim<S: TransactionalStore>(
    store: &S,
    claim: &StoreClaim,
    intended: Option<&Entry>,
) -> Result<Reply, Error> {
    let mut resends = 0;
    loop {
        match try_claim(store, claim, intended).await {
            Ok(Some(reply)) => return Ok(reply),
            // Another key took the place in between; the next claim finds it.
            Ok(None) if resends < RESENDS => resends += 1,
            Ok(None) => {
                return Err(
                    Error::new(ErrorKind::Store, "the `once_per` place is taken and freed all the time")
                        .with_retry(Retry::Later),
                );
            }
            Err(error) => again(error, &mut resends)?,
        }
    }
}

async fn try_claim<S: TransactionalStore>(
    store: &S,
    claim: &StoreClaim,
    intended: Option<&Entry>,
) -> Result<Option<Reply>, Error> {
    let mut transaction = send(store.begin(claim.key.tenant())).await?;
    let reply = match claim_in(store, &mut transaction, claim).await {
        Ok(reply) => reply,
        Err(error) => {
            // What is left of it would be in the way of the next try, on another connection.
            let _ = send(store.rollback(transaction)).await;
            return Err(error);
        }
    };
    if !matches!(reply, Reply::Claimed { .. } | Reply::OutcomeUnknown { .. }) {
        send(store.rollback(transaction)).await?;
        return Ok(Some(reply));
    }
    let entry = intended.and_then(|intended| entry_of_claim(&reply, intended));
    let appended = match &entry {
        Some(entry) => send(store.append_in(&mut transaction, entry)).await?,
        None => Completed::Done,
    };
    match appended {
        Completed::PlaceTaken => {
            send(store.rollback(transaction)).await?;
            Ok(None)
        }
        Completed::Done | Completed::Stale => {
            send(store.commit(transaction)).await?;
            Ok(Some(reply))
        }
    }
}

/// The entry that goes with what became of a claim, made of that which the claimant intends.
pub(crate) fn entry_of_claim(reply: &Reply, intended: &Entry) -> Option<Entry> {
    match *reply {
        Reply::Claimed {
            generation, attempt, ..
        } => Some(Entry {
            generation,
            attempt,
            ..intended.clone()
        }),
        Reply::OutcomeUnknown { generation, attempt } => Some(Entry {
            generation,
            attempt,
            kind: EntryKind::Unknown,
            place: None,
            ..intended.clone()
        }),
        _ => None,
    }
}

/// Claims a key and, where that is won, its alias. Unless it answers [`Reply::Claimed`] the transaction has to be rolled
/// back to where it was.
pub(crate) async fn claim_in<S: TransactionalStore>(
    store: &S,
    transaction: &mut S::Transaction<'_>,
    claim: &StoreClaim,
) -> Result<Reply, Error> {
    let reply = send(store.claim_in(transaction, claim)).await?;
    let (Reply::Claimed { .. }, Some(alias)) = (&reply, &claim.alias) else {
        return Ok(reply);
    };
    let second = StoreClaim {
        key: alias.key.clone(),
        claim: alias.claim.clone(),
        place: None,
        alias: None,
    };
    match send(store.claim_in(transaction, &second)).await? {
        Reply::Aliased(key) if key == claim.key => Ok(reply),
        Reply::Claimed {
            generation, attempt, ..
        } => {
            let outcome = Outcome::alias(&claim.key);
            let completion = Completion {
                key: alias.key.clone(),
                generation,
                attempt,
                owner: alias.claim.owner,
                retention: alias.claim.kept(),
                entry: Some(Entry {
                    generation,
                    attempt,
                    outcome_digest: outcome.digest(),
                    ..alias.entry.clone()
                }),
                outcome,
            };
            match send(store.complete_in(transaction, &completion)).await? {
                Completed::Done => Ok(reply),
                Completed::Stale | Completed::PlaceTaken => {
                    let message = "a claim was gone in the transaction that made it";
                    Err(Error::new(ErrorKind::Store, message).with_retry(Retry::Transaction))
                }
            }
        }
        // It has a record of its own, or is about to.
        _ => Ok(Reply::Aliased(alias.key.clone())),
    }
}

/// [`Store::complete`](super::Store::complete).
///
/// # Errors
///
/// As there.
pub async fn complete<S: TransactionalStore>(store: &S, completion: &Completion) -> Result<Completed, Error> {
    let mut resends = 0;
    loop {
        match try_complete(store, completion).await {
            Ok(completed) => return Ok(completed),
            Err(error) => again(error, &mut resends)?,
        }
    }
}

async fn try_complete<S: TransactionalStore>(store: &S, completion: &Completion) -> Result<Completed, Error> {
    let mut transaction = send(store.begin(completion.key.tenant())).await?;
    let completed = send(store.complete_in(&mut transaction, completion)).await?;
    match completed {
        Completed::Done => send(store.commit(transaction)).await?,
        Completed::Stale | Completed::PlaceTaken => send(store.rollback(transaction)).await?,
    }
    Ok(completed)
}

/// [`Store::settle`](super::Store::settle).
///
/// # Errors
///
/// As there.
pub async fn settle<S: TransactionalStore>(
    store: &S,
    key: &IdempotencyKey,
    event: &Settlement,
    entries: &[Entry],
) -> Result<Reply, Error> {
    let mut resends = 0;
    loop {
        match try_settle(store, key.tenant(), key, event, entries).await {
            Ok(reply) => return Ok(reply),
            Err(error) => again(error, &mut resends)?,
        }
    }
}

async fn try_settle<S: TransactionalStore>(
    store: &S,
    tenant: &Tenant,
    key: &IdempotencyKey,
    event: &Settlement,
    entries: &[Entry],
) -> Result<Reply, Error> {
    let mut transaction = send(store.begin(tenant)).await?;
    let reply = send(settle_in(store, &mut transaction, key, event, entries)).await?;
    match reply {
        Reply::Done | Reply::OutcomeUnknown { .. } => send(store.commit(transaction)).await?,
        _ => send(store.rollback(transaction)).await?,
    }
    Ok(reply)
}

/// Settles and appends the entries that go with what happened, in a transaction that the caller ends.
pub(crate) async fn settle_in<S: TransactionalStore>(
    store: &S,
    transaction: &mut S::Transaction<'_>,
    key: &IdempotencyKey,
    event: &Settlement,
    entries: &[Entry],
) -> Result<Reply, Error> {
    let reply = send(store.settle_in(transaction, key, event)).await?;
    for entry in entries {
        let entry = match &reply {
            Reply::OutcomeUnknown { generation, attempt } => Entry {
                generation: *generation,
                attempt: *attempt,
                ..entry.clone()
            },
            // Failing makes an entry only where the outcome becomes unknown.
            Reply::Done if !matches!(event, Settlement::Fail { .. }) => entry.clone(),
            _ => break,
        };
        if send(store.append_in(transaction, &entry)).await? == Completed::PlaceTaken {
            let message = "the `once_per` place was taken by another transaction in between";
            return Err(Error::new(ErrorKind::Store, message).with_retry(Retry::Transaction));
        }
    }
    Ok(reply)
}

/// [`Store::append`](super::Store::append).
///
/// # Errors
///
/// As there.
pub async fn append<S: TransactionalStore>(store: &S, entry: &Entry) -> Result<(), Error> {
    let mut resends = 0;
    loop {
        match try_append(store, entry).await {
            Ok(()) => return Ok(()),
            Err(error) => again(error, &mut resends)?,
        }
    }
}

async fn try_append<S: TransactionalStore>(store: &S, entry: &Entry) -> Result<(), Error> {
    let mut transaction = send(store.begin(entry.key.tenant())).await?;
    send(store.append_in(&mut transaction, entry)).await?;
    send(store.commit(transaction)).await
}

fn again(error: Error, resends: &mut u32) -> Result<(), Error> {
    match error.retry() {
        Retry::Transaction | Retry::ConnectionLost | Retry::CommitUnknown if *resends < RESENDS => {
            *resends += 1;
            Ok(())
        }
        _ => Err(error),
    }
}
