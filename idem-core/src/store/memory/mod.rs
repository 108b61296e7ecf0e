//! Records and ledger in this process, for tests and for services that need neither to outlive it.

mod at_once;
mod connection;
mod journal;
mod state;
mod transaction;

#[cfg(test)]
mod tests;

pub use connection::MemoryConnection;
pub use transaction::MemoryTransaction;

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{
    Capabilities, Completed, Completion, OpenClaim, PlaceDigest, Store, StoreClaim, TransactionalStore, View, atomic,
};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Retry};
use crate::key::{IdempotencyKey, Tenant};
use crate::ledger::Entry;
use crate::record::Record;
use crate::state::{Event, Illegal, Reply, Settlement, Status, transition};
use connection::{Seen, seen};
use state::State;

/// Keeps records and ledger in the memory of this process.
///
/// Clones share them. What it keeps is gone when the process ends, so it suits tests, and effects
/// whose repeats cannot outlive the process either. It applies the transition function itself and
/// is what the other stores are held against.
///
/// # Examples
///
/// ```
/// use idem_core::MemoryStore;
///
/// let store = MemoryStore::new();
/// assert_eq!(store.executed(), 0);
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many effects the ledger holds as executed.
    #[must_use]
    pub fn executed(&self) -> usize {
        self.lock().ledger().executed()
    }

    /// The entries of the ledger in the order in which they were committed.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().ledger().entries().cloned().collect()
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn set_clock_to(&self, clock: crate::testing::Clock) {
        self.lock().set_clock(clock);
    }

    // A panic while the lock is held leaves whole values behind: every change is one assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
            .with_ledger(true)
            .with_fail_fast(true)
            .with_storage_clock(true)
    }

    async fn view(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>) -> Result<View, Error> {
        let state = self.lock();
        Ok(View {
            record: state.record(key).cloned(),
            ledger: state.ledger().view(key, place, &[]),
            now: state.now(),
        })
    }

    async fn claim(&self, claim: &StoreClaim, intended: Option<&Entry>) -> Result<Reply, Error> {
        if claim.alias.is_some() {
            // Two records in one step.
            return atomic::claim(self, claim, intended).await;
        }
        at_once::claim(&mut self.lock(), claim, intended)
    }

    async fn complete(&self, completion: &Completion) -> Result<Completed, Error> {
        at_once::complete(&mut self.lock(), completion)
    }

    async fn settle(&self, key: &IdempotencyKey, event: &Settlement, entries: &[Entry]) -> Result<Reply, Error> {
        atomic::settle(self, key, event, entries).await
    }

    async fn append(&self, entry: &Entry) -> Result<(), Error> {
        atomic::append(self, entry).await
    }

    async fn origin(&self, key: &IdempotencyKey) -> Result<Option<Entry>, Error> {
        Ok(self.lock().ledger().origin(key, &[]))
    }

    async fn open_claims(&self, older_than: Duration, limit: u32) -> Result<Vec<OpenClaim>, Error> {
        Ok(self.lock().open_claims(older_than, limit))
    }

    async fn purge(&self, batch: u32) -> Result<u64, Error> {
        Ok(self.lock().purge(batch))
    }
}

impl TransactionalStore for MemoryStore {
    type Connection = MemoryConnection;
    type Transaction<'c> = MemoryTransaction<'c>;

    async fn begin(&self, _tenant: &Tenant) -> Result<MemoryTransaction<'static>, Error> {
        Ok(MemoryTransaction::root(MemoryConnection::new(self.clone())))
    }

    async fn nest<'c>(&self, connection: &'c mut MemoryConnection) -> Result<MemoryTransaction<'c>, Error> {
        Ok(MemoryTransaction::nested(connection))
    }

    async fn claim_in(&self, transaction: &mut Self::Transaction<'_>, claim: &StoreClaim) -> Result<Reply, Error> {
        let connection = transaction.as_mut();
        let mut state = self.lock();
        if !state.may_claim(claim, connection.id()) {
            return Ok(Reply::InFlight { lease_left: None });
        }
        let record = connection
            .staged_record(&claim.key)
            .or_else(|| state.record(&claim.key))
            .cloned();
        let before = record.as_ref().map(seen);
        let ledger = state
            .ledger()
            .view(&claim.key, claim.place.as_ref(), connection.staged_entries());
        let (record, reply) =
            transition(record, &ledger, Event::Claim(claim.claim.clone()), state.now()).map_err(corrupt)?;
        match (&reply, record) {
            (Reply::Claimed { .. }, Some(mut record)) => {
                record.expires_at = Some(record.created_at.after(claim.claim.kept()));
                state.reserve(claim, connection.id());
                connection.stage(claim.key.clone(), before, record);
            }
            // The end of a lease may have made it unknown.
            (Reply::OutcomeUnknown { .. }, Some(record)) => {
                state.reserve(claim, connection.id());
                connection.stage(claim.key.clone(), before, record);
            }
            _ => {}
        }
        Ok(reply)
    }

    async fn complete_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        completion: &Completion,
    ) -> Result<Completed, Error> {
        let connection = transaction.as_mut();
        let key = &completion.key;
        let state = self.lock();
        let now = state.now();
        let record = connection.staged_record(key).or_else(|| state.record(key));
        let (before, record) = match judge_completion(record, completion, now)? {
            Judged::Stale => return Ok(Completed::Stale),
            Judged::Stands => return Ok(Completed::Done),
            Judged::Completes { before, record } => (before, record),
        };
        connection.stage(key.clone(), Some(before), record);
        if let Some(entry) = &completion.entry {
            connection.append(state.ledger().settled(entry.clone()), now);
        }
        Ok(Completed::Done)
    }

    async fn append_in(&self, transaction: &mut Self::Transaction<'_>, entry: &Entry) -> Result<Completed, Error> {
        let connection = transaction.as_mut();
        let state = self.lock();
        let entry = state.ledger().settled(entry.clone());
        if !state.ledger().holds_like(&entry) {
            connection.append(entry, state.now());
        }
        Ok(Completed::Done)
    }

    async fn settle_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        event: &Settlement,
    ) -> Result<Reply, Error> {
        let connection = transaction.as_mut();
        let (record, ledger, now) = {
            let state = self.lock();
            let record = connection.staged_record(key).or_else(|| state.record(key));
            (
                record.cloned(),
                state.ledger().view(key, event.place(), connection.staged_entries()),
                state.now(),
            )
        };
        let before = record.as_ref().map(seen);
        let event = Event::Settle(event.clone());
        let (record, reply) = transition(record, &ledger, event, now).map_err(corrupt)?;
        if let (Reply::Done | Reply::OutcomeUnknown { .. }, Some(record)) = (&reply, record) {
            connection.stage(key.clone(), before, record);
        }
        Ok(reply)
    }

    async fn view_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> Result<View, Error> {
        let connection = transaction.as_mut();
        let state = self.lock();
        let record = connection.staged_record(key).or_else(|| state.record(key));
        Ok(View {
            record: record.cloned(),
            ledger: state.ledger().view(key, place, connection.staged_entries()),
            now: state.now(),
        })
    }

    async fn origin_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<Option<Entry>, Error> {
        Ok(self.lock().ledger().origin(key, transaction.as_mut().staged_entries()))
    }

    async fn commit(&self, transaction: Self::Transaction<'_>) -> Result<(), Error> {
        if transaction.commit() {
            return Ok(());
        }
        let message = "another transaction has changed the record in between";
        Err(Error::new(ErrorKind::Store, message).with_retry(Retry::Transaction))
    }

    async fn rollback(&self, transaction: Self::Transaction<'_>) -> Result<(), Error> {
        drop(transaction);
        Ok(())
    }

    fn classify(&self, _error: &(dyn StdError + 'static)) -> Retry {
        Retry::Never
    }
}

/// What a completion makes of a record.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum Judged {
    Stale,
    /// It was sent again, perhaps with another outcome: the first one stands, in record and ledger.
    Stands,
    Completes {
        before: Seen,
        record: Record,
    },
}

fn judge_completion(record: Option<&Record>, completion: &Completion, now: Timestamp) -> Result<Judged, Error> {
    let of_this_claim =
        |record: &&Record| (record.generation, record.attempt) == (completion.generation, completion.attempt);
    let Some(record) = record.filter(of_this_claim) else {
        return Ok(Judged::Stale);
    };
    let event = Event::Complete {
        owner: completion.owner,
        outcome: completion.outcome.clone(),
        retention: completion.retention,
    };
    let (was, before) = (record.status, seen(record));
    match transition(Some(record.clone()), &Default::default(), event, now).map_err(corrupt)? {
        (_, Reply::Done) if was == Status::Completed => Ok(Judged::Stands),
        (Some(record), Reply::Done) => Ok(Judged::Completes { before, record }),
        _ => Ok(Judged::Stale),
    }
}

fn corrupt(illegal: Illegal) -> Error {
    Error::new(ErrorKind::Corrupt, "the stored record contradicts itself").with_source(illegal)
}
