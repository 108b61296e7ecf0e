//! One attempt of a transactional effect.
//!
//! | the process ends | what remains | what the next attempt does |
//! |---|---|---|
//! | before the claim | nothing | runs |
//! | between claim and commit | nothing: claim, effect and outcome roll back together | runs |
//! | while COMMIT is under way | everything or nothing | its claim waits for the commit or is told in-flight, then finds the record or runs |
//! | after the commit, before the answer | everything | replays |

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use super::effect_error::Verdict;
use super::keeping::keep;
use super::prepared::{Prepared, Won};
use super::registry::{Called, Entered};
use super::telemetry::{durable, point};
use super::{Done, EffectError, Shared, answer, scope, send};
use crate::canonical::CanonicalError;
use crate::codec::Kept;
use crate::error::{Error, ErrorKind, Retry};
use crate::ledger::{LedgerView, Reason};
use crate::record::{Outcome, OutcomeKind};
use crate::state::{Event, Reply, Status, transition};
use crate::store::{Completed, Store, StoreClaim, TransactionalStore, View, atomic};

/// Runs `effect` in a transaction of its own, or answers from the record.
pub(crate) async fn attempt<S, T, F>(shared: &Arc<Shared<S>>, call: &Prepared, effect: F) -> Result<Done<T>, Error>
where
    S: TransactionalStore,
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError>,
{
    let called = match enter(shared, call).await? {
        Entry::Called(called) => called,
        Entry::Another => return Err(mismatch_of_running(shared, call)),
    };
    let (mut transaction, claim, won) = match probe_and_claim(shared, call).await? {
        Claimed::Won {
            transaction,
            claim,
            won,
        } => (transaction, claim, won),
        Claimed::TurnedAway(reply) => {
            drop(called);
            return turned_away(shared, call, reply).await;
        }
    };
    if let Some(called) = &called {
        called.runs();
    }
    match scope::inside(call.key(), effect(transaction.as_mut())).await {
        Ok(value) => {
            point("effect_done");
            finish(shared, call, transaction, &claim, won, value).await
        }
        Err(error) => {
            let rolled_back = send(shared.store.rollback(transaction)).await;
            match (rolled_back, error.into_verdict()) {
                // What the effect ended by itself may stand: "nothing was committed" would be wrong.
                (Err(misuse), _) if misuse.kind() == ErrorKind::Misuse => Err(misuse),
                (Err(error), Verdict::Final(_)) => Err(error),
                (Ok(()), Verdict::Final(outcome)) => decline(shared, call, outcome).await,
                (rolled_back, verdict) => Err(failed(&shared.store, call, verdict, rolled_back.is_err())),
            }
        }
    }
}

/// What the registry lets a call do.
pub(crate) enum Entry {
    /// Go on, entered or not.
    Called(Option<Called>),
    /// The key runs for a call that asks for something else.
    Another,
}

/// Asks the registry before a connection is taken.
pub(crate) async fn enter<S>(shared: &Shared<S>, call: &Prepared) -> Result<Entry, Error> {
    match shared.registry.enter(call.key(), call.fingerprint()).await {
        Entered::First(called) => Ok(Entry::Called(Some(called))),
        Entered::Settled => Ok(Entry::Called(None)),
        Entered::Runs => Err(answer::in_flight(call, None)),
        Entered::RunsAnother => Ok(Entry::Another),
    }
}

/// Against a claim that is not committed the store cannot judge a mismatch; the process that holds it can. The refusal is
/// put on record aside, since a storage with one writer would keep it, and the caller, waiting for the effect itself.
pub(crate) fn mismatch_of_running<S: Store>(shared: &Arc<Shared<S>>, call: &Prepared) -> Error {
    match call.refusal(Reason::Mismatch) {
        Ok(entry) if shared.store.capabilities().ledger => {
            let (shared, token) = (Arc::clone(shared), shared.tracker.token());
            let span = call.watch.span();
            let append = async move {
                let _token = token;
                if let Err(error) = shared.store.append(&entry).await {
                    tracing::warn!(key = entry.key.short(), error = %error, "a refusal could not be put on record");
                }
            };
            tokio::spawn(append.instrument(span));
        }
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(key = call.key().short(), error = %error, "a refusal could not be put on record");
        }
    }
    answer::mismatch(call)
}

/// A claim in an open transaction.
pub(crate) enum Claimed<X> {
    Won {
        transaction: X,
        claim: StoreClaim,
        won: Won,
    },
    TurnedAway(Reply),
}

/// Looks for an answer if the call wants that, and claims where there is none.
pub(crate) async fn probe_and_claim<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
) -> Result<Claimed<S::Transaction<'static>>, Error> {
    if call.probe
        && let Some(reply) = probe(shared, call).await?
    {
        return Ok(Claimed::TurnedAway(reply));
    }
    claim(shared, call).await
}

/// Opens a transaction and claims the key in it.
pub(crate) async fn claim<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
) -> Result<Claimed<S::Transaction<'static>>, Error> {
    loop {
        let claim = call.claim()?;
        let mut transaction = send(shared.store.begin(call.key().tenant())).await?;
        point("begun");
        let reply = match atomic::claim_in(&shared.store, &mut transaction, &claim).await {
            Ok(reply) => reply,
            Err(error) => return Err(undone(shared, transaction, error).await),
        };
        if let Reply::Claimed {
            generation, attempt, ..
        } = reply
        {
            point("claimed");
            call.watch.claimed(attempt);
            return Ok(Claimed::Won {
                transaction,
                claim,
                won: Won { generation, attempt },
            });
        }
        send(shared.store.rollback(transaction)).await?;
        match reply {
            Reply::Aliased(key) => call.turn_to(&key)?,
            reply => return Ok(Claimed::TurnedAway(reply)),
        }
    }
}

/// Records the result of an effect and commits.
pub(crate) async fn finish<S: TransactionalStore, T: Serialize + DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    transaction: S::Transaction<'static>,
    claim: &StoreClaim,
    won: Won,
    value: T,
) -> Result<Done<T>, Error> {
    let outcome = match encode(call, &value) {
        Ok(outcome) => outcome,
        Err(error) => return Err(undone(shared, transaction, error).await),
    };
    match record(shared, call, transaction, claim, won, outcome).await? {
        Recorded::Committed => Ok(Done::Executed(value)),
        Recorded::PlaceTaken => place_taken(shared, call).await,
    }
}

/// Rolls back before an error is told: what is left of a transaction would be in the way of whoever calls again, on another
/// connection. Why it failed matters more than whether the roll-back was acknowledged: nothing commits.
async fn undone<S: TransactionalStore>(
    shared: &Shared<S>,
    transaction: S::Transaction<'static>,
    error: Error,
) -> Error {
    let _ = send(shared.store.rollback(transaction)).await;
    error
}

pub(crate) fn encode<T: Serialize>(call: &Prepared, value: &T) -> Result<Kept, Error> {
    let outcome = Outcome::encode(OutcomeKind::Success, value).map_err(|source| unencodable(call, source))?;
    keep(call, outcome)
}

fn unencodable(call: &Prepared, source: CanonicalError) -> Error {
    Error::misuse(
        format!(
            "the outcome of `{}` cannot be written as JSON and read back, so no repeat could get it; nothing was committed",
            call.action
        ),
        source,
    )
}

/// How recording an outcome ended.
enum Recorded {
    Committed,
    PlaceTaken,
}

/// Completes the claim and commits; on any other end the transaction is rolled back.
async fn record<S: TransactionalStore>(
    shared: &Shared<S>,
    call: &Prepared,
    mut transaction: S::Transaction<'static>,
    claim: &StoreClaim,
    won: Won,
    outcome: Kept,
) -> Result<Recorded, Error> {
    let completion = match call.completion(claim, won, outcome) {
        Ok(completion) => completion,
        Err(error) => return Err(undone(shared, transaction, error).await),
    };
    match send(shared.store.complete_in(&mut transaction, &completion)).await {
        Ok(Completed::Done) => {}
        Ok(Completed::Stale) => {
            send(shared.store.rollback(transaction)).await?;
            return Err(lost(call));
        }
        Ok(Completed::PlaceTaken) => {
            send(shared.store.rollback(transaction)).await?;
            return Ok(Recorded::PlaceTaken);
        }
        Err(error) => return Err(undone(shared, transaction, error).await),
    }
    point("completed");
    send(shared.store.commit(transaction)).await?;
    durable("committed");
    Ok(Recorded::Committed)
}

pub(crate) fn lost(call: &Prepared) -> Error {
    let message = format!(
        "the claim of key {} was gone before its outcome was recorded; what this attempt of `{}` did was rolled back",
        call.key().short(),
        call.action
    );
    Error::new(ErrorKind::LostClaim, message)
}

/// Another key took the place while the effect ran, whose transaction is rolled back. A new claim
/// finds the holder, and whatever else has happened since.
async fn place_taken<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
) -> Result<Done<T>, Error> {
    match claim(shared, call).await? {
        Claimed::TurnedAway(reply) => turned_away(shared, call, reply).await,
        Claimed::Won { transaction, .. } => {
            send(shared.store.rollback(transaction)).await?;
            Err(place_was_free(call))
        }
    }
}

/// The place was taken, and a new claim does not see by whom: the holder was rolled back since, or this
/// transaction reads an older state.
pub(crate) fn place_was_free(call: &Prepared) -> Error {
    let message = format!(
        "the `once_per` place of `{}` was taken by another transaction while it ran; run it again to find out",
        call.action
    );
    Error::new(ErrorKind::Store, message).with_retry(Retry::Transaction)
}

/// Puts a final error on record, in a transaction of its own that claims again: the effect's own
/// transaction, claim included, is rolled back. If another attempt has won meanwhile, what it
/// recorded is the answer.
pub(crate) async fn decline<S: TransactionalStore, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    outcome: Outcome,
) -> Result<Done<T>, Error> {
    let kept = keep(call, outcome.clone())?;
    let mut retries = 0;
    loop {
        let result = match claim(shared, call).await {
            Ok(Claimed::Won {
                transaction,
                claim,
                won,
            }) => record(shared, call, transaction, &claim, won, kept.clone()).await,
            Ok(Claimed::TurnedAway(reply)) => return turned_away(shared, call, reply).await,
            Err(error) => Err(error),
        };
        match result {
            // A declined effect takes no place.
            Ok(Recorded::Committed | Recorded::PlaceTaken) => return Err(answer::declined(call, outcome)),
            Err(error) if error.retry() == Retry::Transaction && retries < shared.settings.max_retries => retries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Looks for an answer without opening a transaction. What it finds is replayed; that an effect may
/// run is never concluded from it.
pub(crate) async fn probe<S: Store>(shared: &Shared<S>, call: &Prepared) -> Result<Option<Reply>, Error> {
    let View { record, ledger, now } = send(shared.store.view(call.key(), call.place().as_ref())).await?;
    if record.as_ref().is_none_or(|record| record.status != Status::Completed) && ledger.own.is_none() {
        return Ok(None);
    }
    let event = Event::Claim(call.question());
    let (_, reply) = transition(record, &LedgerView { place: None, ..ledger }, event, now).map_err(|illegal| {
        Error::new(ErrorKind::Corrupt, "the stored record contradicts itself").with_source(illegal)
    })?;
    Ok(match reply {
        // Where the effect is on record, the claim finds out.
        Reply::Claimed { .. } | Reply::Aliased(_) => None,
        reply => Some(reply),
    })
}

/// Answers a claim that was not won, after the refusal is on record.
pub(crate) async fn turned_away<S: Store, T: DeserializeOwned>(
    shared: &Shared<S>,
    call: &Prepared,
    reply: Reply,
) -> Result<Done<T>, Error> {
    if let Some(reason) = answer::refusal_of(&reply) {
        put_refusal(shared, call, reason).await?;
    }
    answer::answer(reply, call)
}

/// Appends a refusal in a transaction of its own. The caller is told of a refusal only when it is on
/// record.
async fn put_refusal<S: Store>(shared: &Shared<S>, call: &Prepared, reason: Reason) -> Result<(), Error> {
    if !call.ledger || !shared.store.capabilities().ledger {
        return Ok(());
    }
    shared.store.append(&call.refusal(reason)?).await
}

/// An effect's own error, after the roll-back. That its own connection is `broken` is known from the
/// roll-back; an error alone may tell of another connection, which the effect has used beside it.
pub(crate) fn failed<S: TransactionalStore>(store: &S, call: &Prepared, verdict: Verdict, broken: bool) -> Error {
    let source = match verdict {
        Verdict::Failed(source) | Verdict::NothingHappened(source) => source,
        Verdict::Unencodable(source) => return unencodable(call, source),
        Verdict::Final(_) => return Error::new(ErrorKind::Misuse, "a final error was not recorded"),
    };
    match store.classify(&*source) {
        Retry::Transaction => Error::store(
            format!("run `{}`: the database undid its transaction", call.action),
            source,
        )
        .with_retry(Retry::Transaction),
        Retry::ConnectionLost if broken => Error::store(
            format!("run `{}`: the connection of its transaction broke", call.action),
            source,
        )
        .with_retry(Retry::ConnectionLost),
        retry => {
            let message = format!(
                "the effect of `{}` failed; nothing was committed or recorded",
                call.action
            );
            Error::new(ErrorKind::Effect, message)
                .with_source(source)
                .with_retry(if retry == Retry::ConnectionLost {
                    Retry::Later
                } else {
                    retry
                })
        }
    }
}
