//! The PostgreSQL store.

mod apart;
mod codes;
mod roles;
mod sql;
mod store;
mod transaction;

pub(crate) use codes::Sqlstate;
pub use roles::PgRoles;
pub use store::PgStore;
pub use transaction::PgTransaction;

use std::error::Error as StdError;
use std::time::Duration;

use idem_core::{
    Capabilities, Completed, Completion, Digest, Entry, Error, ErrorKind, IdempotencyKey, OpenClaim, PlaceDigest,
    Record, Reply, Retry, Settlement, Store, StoreClaim, Tenant, TransactionalStore, View, atomic, millis,
};
use sqlx::postgres::{PgConnection, PgQueryResult};
use sqlx::{Executor as _, Postgres, Row as _, SqlStr};

use crate::error;
use crate::{bind, rows};
use apart::Apart;

pub(crate) fn store_error(what: &str, source: sqlx::Error) -> Error {
    error::store::<Sqlstate>(what, source)
}

pub(crate) fn connect_error(what: &str, source: sqlx::Error) -> Error {
    error::acquire::<Sqlstate>(what, source)
}

pub(crate) fn code_is(source: &sqlx::Error, code: &str) -> bool {
    source
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|found| found == code)
}

impl PgStore {
    /// Tries the statement that wins an absent record.
    async fn insert(
        &self,
        transaction: &mut PgTransaction<'_>,
        claim: &StoreClaim,
        generation: u32,
    ) -> Result<bool, Error> {
        let sql = match claim.place {
            Some(_) => &self.sql().claim,
            None => &self.sql().claim_without_place,
        };
        let query = bind::claim(self.query(sql), claim, generation, 1).bind(lock_number(&claim.key));
        self.won(transaction, query).await
    }

    /// Tries the statement that takes over the record that was seen.
    async fn take_over(
        &self,
        transaction: &mut PgTransaction<'_>,
        claim: &StoreClaim,
        seen: &Record,
        next: (u32, u32),
    ) -> Result<bool, Error> {
        let (generation, attempt) = next;
        let query = bind::claim(self.query(&self.sql().reclaim), claim, generation, attempt)
            .bind(lock_number(&claim.key))
            .bind(i64::from(seen.status.code()))
            .bind(i64::from(seen.attempt))
            .bind(i64::from(seen.generation))
            .bind(seen.owner.as_bytes().as_slice());
        self.won(transaction, query).await
    }

    async fn won(&self, transaction: &mut PgTransaction<'_>, query: bind::Bound<'_, Postgres>) -> Result<bool, Error> {
        let row = transaction
            .as_mut()
            .fetch_optional(query)
            .await
            .map_err(|source| error::tables::<Sqlstate>("claim the key", source))?;
        let Some(row) = row else {
            return Ok(false);
        };
        transaction.claimed_in(row.try_get(0).map_err(|source| store_error("claim the key", source))?);
        Ok(true)
    }

    /// Where the lease of the record that was seen has ended, its outcome becomes unknown. Returns whether it
    /// has: its owner may have come back in between.
    async fn hold(
        &self,
        transaction: &mut PgTransaction<'_>,
        claim: &StoreClaim,
        seen: &Record,
    ) -> Result<bool, Error> {
        let query = bind::hold(self.query(&self.sql().hold), claim, seen);
        let done = transaction
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| store_error("claim the key", source))?;
        Ok(done.rows_affected() > 0)
    }

    async fn view_on(
        &self,
        connection: &mut PgConnection,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> Result<View, Error> {
        let sql = match place {
            Some(_) => &self.sql().view,
            None => &self.sql().view_without_place,
        };
        let query = self
            .query(sql)
            .bind(key.tenant().as_str())
            .bind(key.as_str())
            .bind(place.map(|place| &place[..]));
        let row = connection
            .fetch_one(query)
            .await
            .map_err(|source| error::tables::<Sqlstate>("read the record", source))?;
        let ledger = idem_core::LedgerView {
            own: rows::standing(&row)?,
            place: rows::reference(&row, "place_")?,
        };
        Ok(View {
            record: rows::record(&row)?,
            ledger,
            now: rows::now(&row)?,
        })
    }
}

impl PgStore {
    /// A statement of this store. Each of them is made here, and sent in a transaction or on what [`apart`](Self::apart)
    /// gives, so that a pooler can stand in between.
    fn query(&self, sql: &SqlStr) -> bind::Bound<'static, Postgres> {
        sqlx::query(sql.clone()).persistent(self.has_persistent_statements())
    }

    /// Where a statement goes that belongs to no call: to a connection, unless it needs a transaction around it.
    async fn apart(&self, tenant: Option<&Tenant>) -> Result<Apart, Error> {
        if let Some(tenant) = tenant.filter(|_| self.has_on_begin()) {
            // Without its preparation, row-level security hides the record or refuses to read.
            return self.begin(tenant).await.map(Apart::Transaction);
        }
        if !self.has_persistent_statements() {
            // An unnamed statement is parsed and run in two steps. A pooler sends them to one server in a transaction only;
            // otherwise the second may find the unnamed statement of another client.
            return PgTransaction::begin(self).await.map(Apart::Transaction);
        }
        let connection = crate::transaction::acquire(self.pool()).await;
        connection
            .map(Apart::Connection)
            .map_err(|source| connect_error("connect to the database", source))
    }

    /// Runs one statement of a settlement; whether it changed anything.
    async fn settle_by(
        &self,
        transaction: &mut PgTransaction<'_>,
        sql: &SqlStr,
        key: &IdempotencyKey,
        event: &Settlement,
    ) -> Result<bool, Error> {
        let query = bind::settlement(self.query(sql), key, event);
        let done = transaction
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| store_error("settle a claim", source))?;
        Ok(done.rows_affected() > 0)
    }

    async fn origin_on(&self, connection: &mut PgConnection, key: &IdempotencyKey) -> Result<Option<Entry>, Error> {
        let query = self
            .query(&self.sql().origin)
            .bind(key.tenant().as_str())
            .bind(key.as_str());
        let row = connection
            .fetch_optional(query)
            .await
            .map_err(|source| error::tables::<Sqlstate>("read the ledger", source))?;
        row.map(|row| rows::origin(&row, key)).transpose()
    }
}

impl Store for PgStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
            .with_ledger(true)
            .with_shared(true)
            .with_fail_fast(self.uses_advisory_locks())
            .with_storage_clock(true)
    }

    async fn view(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>) -> Result<View, Error> {
        let mut apart = self.apart(Some(key.tenant())).await?;
        let view = self.view_on(apart.as_mut(), key, place).await?;
        apart.end().await?;
        Ok(view)
    }

    async fn claim(&self, claim: &StoreClaim, intended: Option<&Entry>) -> Result<Reply, Error> {
        atomic::claim(self, claim, intended).await
    }

    async fn complete(&self, completion: &Completion) -> Result<Completed, Error> {
        atomic::complete(self, completion).await
    }

    async fn settle(&self, key: &IdempotencyKey, event: &Settlement, entries: &[Entry]) -> Result<Reply, Error> {
        atomic::settle(self, key, event, entries).await
    }

    async fn append(&self, entry: &Entry) -> Result<(), Error> {
        atomic::append(self, entry).await
    }

    async fn origin(&self, key: &IdempotencyKey) -> Result<Option<Entry>, Error> {
        let mut apart = self.apart(Some(key.tenant())).await?;
        let origin = self.origin_on(apart.as_mut(), key).await?;
        apart.end().await?;
        Ok(origin)
    }

    async fn open_claims(&self, older_than: Duration, limit: u32) -> Result<Vec<OpenClaim>, Error> {
        let query = self
            .query(&self.sql().open_claims)
            .bind(millis(older_than))
            .bind(i64::from(limit));
        let mut apart = self.apart(None).await?;
        let rows = apart
            .as_mut()
            .fetch_all(query)
            .await
            .map_err(|source| error::tables::<Sqlstate>("list what is open", source))?;
        apart.end().await?;
        rows.iter().map(rows::open_claim).collect()
    }

    async fn purge(&self, batch: u32) -> Result<u64, Error> {
        let query = self.query(&self.sql().purge).bind(i64::from(batch));
        let mut apart = self.apart(None).await?;
        let done = apart
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| error::tables::<Sqlstate>("remove expired records", source))?;
        apart.end().await?;
        Ok(done.rows_affected())
    }
}

impl TransactionalStore for PgStore {
    type Connection = PgConnection;
    type Transaction<'c> = PgTransaction<'c>;

    async fn begin(&self, tenant: &Tenant) -> Result<PgTransaction<'static>, Error> {
        let mut transaction = PgTransaction::begin(self).await?;
        self.prepare(transaction.as_mut(), tenant).await?;
        Ok(transaction)
    }

    async fn nest<'c>(&self, connection: &'c mut PgConnection) -> Result<PgTransaction<'c>, Error> {
        PgTransaction::nest(connection).await
    }

    async fn claim_in(&self, transaction: &mut Self::Transaction<'_>, claim: &StoreClaim) -> Result<Reply, Error> {
        match self.insert(transaction, claim, 1).await {
            Ok(true) => {
                return Ok(Reply::Claimed {
                    generation: 1,
                    attempt: 1,
                    took_over: false,
                });
            }
            Ok(false) => {}
            // Without advisory locks the statement waits for a running claim, but not for ever.
            Err(error) if is_lock_timeout(&error) => return Ok(Reply::InFlight { lease_left: None }),
            Err(error) => return Err(error),
        }
        // A new statement has a new snapshot, so it sees whoever has won.
        let view = self
            .view_on(transaction.as_mut(), &claim.key, claim.place.as_ref())
            .await?;
        if view.record.is_none() && view.ledger.own.is_none() && view.ledger.place.is_none() {
            // Claimed, and not committed yet; or rolled back since, which the next call finds out.
            return Ok(Reply::InFlight { lease_left: None });
        }
        match rows::decide(&view, &claim.claim)? {
            Reply::Claimed {
                generation,
                attempt,
                took_over,
            } => {
                let won = match &view.record {
                    // Sent again by its own owner.
                    Some(seen) if seen.owner == claim.claim.owner => true,
                    Some(seen) => self.take_over(transaction, claim, seen, (generation, attempt)).await?,
                    None => self.insert(transaction, claim, generation).await?,
                };
                // Lost to another claimant in between, who is running now.
                Ok(if won {
                    Reply::Claimed {
                        generation,
                        attempt,
                        took_over,
                    }
                } else {
                    Reply::InFlight { lease_left: None }
                })
            }
            Reply::OutcomeUnknown { generation, attempt } => {
                let ended = view.record.as_ref().filter(|seen| rows::has_lease(seen));
                let unknown = match ended {
                    Some(seen) => self.hold(transaction, claim, seen).await?,
                    None => true,
                };
                Ok(if unknown {
                    Reply::OutcomeUnknown { generation, attempt }
                } else {
                    Reply::InFlight { lease_left: None }
                })
            }
            reply => Ok(reply),
        }
    }

    async fn complete_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        completion: &Completion,
    ) -> Result<Completed, Error> {
        let claimed_in = transaction.claimed().map(str::to_owned);
        let sql = match &completion.entry {
            None => &self.sql().complete_without_entry,
            Some(entry) if entry.place.is_some() || entry.frees_place => &self.sql().complete,
            Some(_) => &self.sql().complete_without_place,
        };
        let query = bind::completion(self.query(sql), completion).bind(claimed_in);
        match transaction
            .as_mut()
            .execute(query)
            .await
            .map(|done: PgQueryResult| done.rows_affected())
        {
            Ok(1) => Ok(Completed::Done),
            Ok(_) if transaction.claimed().is_none() => {
                let view = self.view_on(transaction.as_mut(), &completion.key, None).await?;
                Ok(rows::completed(view, completion))
            }
            Ok(_) => self.why_stale(transaction).await,
            Err(source) if violates(&source, &format!("{}_place", self.ledger_table())) => Ok(Completed::PlaceTaken),
            // in_failed_sql_transaction: the effect went on after an error as if it had not been.
            Err(source) if code_is(&source, "25P02") => {
                let message = "the effect ignored an error that had aborted its transaction; nothing was committed. Return the error, or put the statement that may fail under a savepoint";
                Err(Error::new(ErrorKind::Misuse, message).with_source(source))
            }
            Err(source) => Err(store_error("record the outcome", source)),
        }
    }

    async fn append_in(&self, transaction: &mut Self::Transaction<'_>, entry: &Entry) -> Result<Completed, Error> {
        let sql = match entry.place.is_some() || entry.frees_place {
            true => &self.sql().append,
            false => &self.sql().append_without_place,
        };
        let query = bind::entry(self.query(sql), entry);
        match transaction.as_mut().execute(query).await {
            Ok(_) => Ok(Completed::Done),
            Err(source) if violates(&source, &format!("{}_place", self.ledger_table())) => Ok(Completed::PlaceTaken),
            Err(source) => Err(store_error("append to the ledger", source)),
        }
    }

    async fn settle_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        event: &Settlement,
    ) -> Result<Reply, Error> {
        let sql = match event {
            Settlement::Fail { .. } => &self.sql().fail,
            Settlement::Release { .. } => &self.sql().release,
            Settlement::Renew { .. } => &self.sql().renew,
            Settlement::Resolve { .. } => &self.sql().resolve,
            Settlement::Revoke { .. } => &self.sql().revoke,
            Settlement::Reopen { .. } => &self.sql().reopen,
        };
        let mut changed = self.settle_by(transaction, sql, key, event).await?;
        let from_ledger = match event {
            Settlement::Revoke { .. } => Some(&self.sql().revoke_from_ledger),
            Settlement::Reopen { .. } => Some(&self.sql().reopen_from_ledger),
            _ => None,
        };
        if let (false, Some(sql)) = (changed, from_ledger) {
            changed = self.settle_by(transaction, sql, key, event).await?;
        }
        // What stands now tells what the event has done, or why it has done nothing.
        let view = self.view_on(transaction.as_mut(), key, event.place()).await?;
        rows::settled(view, event, changed)
    }

    async fn view_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> Result<View, Error> {
        self.view_on(transaction.as_mut(), key, place).await
    }

    async fn origin_in(
        &self,
        transaction: &mut Self::Transaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<Option<Entry>, Error> {
        self.origin_on(transaction.as_mut(), key).await
    }

    async fn commit(&self, transaction: Self::Transaction<'_>) -> Result<(), Error> {
        transaction.commit().await
    }

    async fn rollback(&self, transaction: Self::Transaction<'_>) -> Result<(), Error> {
        transaction.rollback().await
    }

    fn classify(&self, error: &(dyn StdError + 'static)) -> Retry {
        error::classify::<Sqlstate>(error)
    }
}

impl PgStore {
    /// Tells a lost claim from a transaction that the effect has ended.
    async fn why_stale(&self, transaction: &mut PgTransaction<'_>) -> Result<Completed, Error> {
        match transaction.is_claiming_transaction().await {
            Ok(true) => Ok(Completed::Stale),
            Ok(false) => Err(error::ended_by_effect()),
            Err(source) => Err(store_error("record the outcome", source)),
        }
    }
}

fn is_lock_timeout(error: &Error) -> bool {
    let source = StdError::source(error).and_then(|source| source.downcast_ref::<sqlx::Error>());
    source.is_some_and(|source| code_is(source, "55P03"))
}

fn violates(source: &sqlx::Error, constraint: &str) -> bool {
    source
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation() && error.constraint() == Some(constraint))
}

/// The advisory lock of a key, before the table is mixed in. Two keys that share a number only tell each other in-flight.
fn lock_number(key: &IdempotencyKey) -> i64 {
    let name = [key.tenant().as_str(), key.as_str()].join("\0");
    let digest = Digest::of(name.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    i64::from_be_bytes(first)
}
