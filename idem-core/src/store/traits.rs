use std::error::Error as StdError;
use std::future::Future;
use std::time::Duration;

use super::{Capabilities, Completed, Completion, OpenClaim, PlaceDigest, StoreClaim, View};
use crate::error::{Error, Retry};
use crate::key::{IdempotencyKey, Tenant};
use crate::ledger::Entry;
use crate::state::{Reply, Settlement};

/// Keeps records and, where it can, the ledger.
pub trait Store: Send + Sync + 'static {
    /// What the store can do.
    fn capabilities(&self) -> Capabilities;

    /// Reads what is committed about a key, and who else holds `place`.
    ///
    /// # Contract
    ///
    /// Record, ledger and clock are read at one moment. An absent record is told from a record that
    /// cannot be read, which is an error of kind [`Corrupt`](crate::ErrorKind::Corrupt). Nothing is
    /// written. Its answer may be replayed; it never decides that an effect may run.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn view(
        &self,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> impl Future<Output = Result<View, Error>> + Send;

    /// Claims a key for an outside effect.
    ///
    /// # Contract
    ///
    /// One atomic step: the claim, with its lease and recovery, is durable together with the entry
    /// `intended` when this returns [`Reply::Claimed`], or neither is. Of any number of concurrent
    /// claimants in any number of processes one wins. A claim that is sent again with its own token is
    /// a no-op success. Where the lease of another attempt has ended, its recovery and this one's,
    /// whichever is stricter, decide in the same statement; a record that becomes unknown gets its
    /// entry. Without `intended`, as in a call without ledger, no entry is appended whatever comes of the claim; that the
    /// claim looks into the ledger stays as it is.
    /// A place that another key holds is refused, also to an attempt that takes over; a key that holds one already takes
    /// no other.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt); whether the
    /// claim was made is then unknown until it is sent again.
    fn claim(&self, claim: &StoreClaim, intended: Option<&Entry>) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// Records the outcome of a claim and appends its entry, if it has one.
    ///
    /// # Contract
    ///
    /// Both or neither, and only while the token of `completion` owns the record, in flight or unknown;
    /// otherwise [`Completed::Stale`]. Sent again it is a no-op success.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn complete(&self, completion: &Completion) -> impl Future<Output = Result<Completed, Error>> + Send;

    /// Applies an event that is neither a claim nor a completion, and appends `entries` with it if it
    /// makes the outcome unknown or takes effect.
    ///
    /// # Contract
    ///
    /// One atomic step, by token where the event has one. Sent again it is a no-op with the same answer.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn settle(
        &self,
        key: &IdempotencyKey,
        event: &Settlement,
        entries: &[Entry],
    ) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// Appends an entry, unless one with the same key, generation, kind and slot is there.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store).
    fn append(&self, entry: &Entry) -> impl Future<Output = Result<(), Error>> + Send;

    /// Reads what the ledger says that a key asks for: its newest entry that an attempt made, with the
    /// `once_per` place that the key last took. `None` where there is none, or no ledger.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn origin(&self, key: &IdempotencyKey) -> impl Future<Output = Result<Option<Entry>, Error>> + Send;

    /// Lists outside effects whose first attempt began longer ago than `older_than` and that have no
    /// outcome: in flight, with a lease that has ended or not, or unknown. The longest open come first,
    /// `limit` at most.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn open_claims(
        &self,
        older_than: Duration,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<OpenClaim>, Error>> + Send;

    /// Removes up to `batch` records that have expired, and returns how many.
    ///
    /// # Contract
    ///
    /// Only records that are completed, failed or revoked and expired when they are removed; never one in
    /// flight or unknown, however old. The ledger keeps every entry. Records that another purge holds are
    /// left to it, and no claim waits for longer than one batch takes.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store).
    fn purge(&self, batch: u32) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// A store whose records can be part of the transaction that has the effect.
///
/// The executor calls, on one transaction: [`begin`](Self::begin), [`claim_in`](Self::claim_in), the
/// effect, [`complete_in`](Self::complete_in), [`commit`](Self::commit). Whatever goes wrong before the
/// last step, the transaction is dropped or rolled back and nothing of it remains.
pub trait TransactionalStore: Store {
    /// What effects run their statements on.
    type Connection: Send;

    /// An open transaction. Dropping it rolls it back, also when the future that owns it is dropped
    /// in the middle of any of the calls below, and leaves its connection clean.
    type Transaction<'c>: AsMut<Self::Connection> + Send;

    /// Opens a transaction.
    ///
    /// # Contract
    ///
    /// Prepares it for `tenant` (row-level security, search path) before the claim. Never waits for
    /// a lock of another key's claim for longer than a stated time.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store); nothing is open then.
    fn begin(&self, tenant: &Tenant) -> impl Future<Output = Result<Self::Transaction<'static>, Error>> + Send;

    /// Opens a transaction inside one that the caller has open, to be released or rolled back alone.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) when `connection` is in no transaction.
    fn nest<'c>(
        &self,
        connection: &'c mut Self::Connection,
    ) -> impl Future<Output = Result<Self::Transaction<'c>, Error>> + Send;

    /// Claims a key in one atomic step.
    ///
    /// # Contract
    ///
    /// Of any number of concurrent claimants in any number of processes one gets
    /// [`Reply::Claimed`]. The others get what [`transition`](crate::state::transition) says of the
    /// committed record, or [`Reply::InFlight`] against a claim that is not committed yet. The
    /// condition of the writing statement repeats the whole rule, ledger and place included; a
    /// record that was loaded never decides. The transaction stays usable whoever wins.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn claim_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        claim: &StoreClaim,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// Records the outcome and appends its entry, if it has one, as the last statement before the commit.
    ///
    /// # Contract
    ///
    /// Writes both or neither, and only if the claim of `completion.owner` made in this very
    /// transaction still stands; otherwise answers [`Completed::Stale`].
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) when the effect has ended the transaction or ignored
    /// an error that aborted it, else [`Store`](crate::ErrorKind::Store).
    fn complete_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        completion: &Completion,
    ) -> impl Future<Output = Result<Completed, Error>> + Send;

    /// Appends an entry, unless one with the same key, generation, kind and slot is there. After
    /// [`Completed::PlaceTaken`] the transaction has to be rolled back.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store).
    fn append_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        entry: &Entry,
    ) -> impl Future<Output = Result<Completed, Error>> + Send;

    /// Applies an event that is neither a claim nor a completion.
    ///
    /// # Contract
    ///
    /// As the transition function says, in one statement whose condition repeats the rule. Sending an
    /// event again with one's own token is a no-op with the same answer.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    fn settle_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        event: &Settlement,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// As [`Store::view`], on an open transaction, its own changes included.
    ///
    /// # Errors
    ///
    /// As there.
    fn view_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> impl Future<Output = Result<View, Error>> + Send;

    /// As [`Store::origin`], on an open transaction, its own changes included.
    ///
    /// # Errors
    ///
    /// As there.
    fn origin_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
    ) -> impl Future<Output = Result<Option<Entry>, Error>> + Send;

    /// Commits; when it returns, the commit is acknowledged and durable as the storage defines it.
    ///
    /// # Errors
    ///
    /// Kind [`Store`](crate::ErrorKind::Store): with [`Retry::Transaction`] nothing was committed,
    /// with [`Retry::CommitUnknown`] only a new claim can tell.
    fn commit(&self, transaction: Self::Transaction<'_>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Rolls back.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) when the effect has ended the transaction, else
    /// [`Store`](crate::ErrorKind::Store); the transaction does not commit then either.
    fn rollback(&self, transaction: Self::Transaction<'_>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Says what an error that an effect returned means for its transaction:
    /// [`Retry::Transaction`] for a serialisation failure or a deadlock, [`Retry::ConnectionLost`] for
    /// a broken connection.
    fn classify(&self, error: &(dyn StdError + 'static)) -> Retry;
}
