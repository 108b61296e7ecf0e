//! The SQLite store.

mod sql;
mod store;
mod transaction;

pub use store::SqliteStore;
pub use transaction::SqliteTransaction;

use std::error::Error as StdError;
use std::time::Duration;

use idem_core::{
    Capabilities, Completed, Completion, Entry, Error, IdempotencyKey, LedgerView, OpenClaim, PlaceDigest, Record,
    Reply, Retry, Settlement, Store, StoreClaim, Tenant, TransactionalStore, View, atomic, millis,
};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Executor as _, Sqlite};

use crate::error::{self, Codes};
use crate::{bind, rows};

/// SQLite's extended result codes, as decimal numbers.
pub(crate) struct SqliteCodes;

impl Codes for SqliteCodes {
    fn is_conflict(code: &str) -> bool {
        // SQLITE_BUSY_SNAPSHOT: what the transaction has read is outdated; a fresh one is not.
        code == "517"
    }

    fn is_transient(code: &str) -> bool {
        // SQLITE_BUSY and SQLITE_LOCKED with their extensions, SQLITE_FULL.
        matches!(primary(code), Some(BUSY | 6 | 13))
    }

    fn is_disconnect(_: &str) -> bool {
        false
    }

    fn commit_is_unknown(code: &str) -> bool {
        // SQLITE_IOERR with its extensions.
        primary(code) == Some(10)
    }

    fn is_denied(_: &str) -> bool {
        false
    }

    fn is_missing(error: &dyn sqlx::error::DatabaseError) -> bool {
        error.message().starts_with("no such table")
    }

    fn is_mixed_up(_: &dyn sqlx::error::DatabaseError) -> bool {
        false
    }
}

const BUSY: u32 = 5;

/// The result code without its extension.
fn primary(code: &str) -> Option<u32> {
    code.parse::<u32>().ok().map(|code| code & 0xff)
}

/// `SQLITE_BUSY`, with its extensions.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| primary(&code) == Some(BUSY))
}

pub(crate) fn store_error(what: &str, source: sqlx::Error) -> Error {
    error::store::<SqliteCodes>(what, source)
}

impl SqliteStore {
    /// Tries the statement that wins an absent record.
    async fn insert(
        &self,
        transaction: &mut SqliteTransaction<'_>,
        claim: &StoreClaim,
        generation: u32,
    ) -> Result<bool, Error> {
        let query = bind::claim(sqlx::query::<Sqlite>(self.sql().claim.clone()), claim, generation, 1);
        self.won(transaction, query).await
    }

    /// Tries the statement that takes over the record that was seen.
    async fn take_over(
        &self,
        transaction: &mut SqliteTransaction<'_>,
        claim: &StoreClaim,
        seen: &Record,
        next: (u32, u32),
    ) -> Result<bool, Error> {
        let (generation, attempt) = next;
        let query = bind::claim(
            sqlx::query::<Sqlite>(self.sql().reclaim.clone()),
            claim,
            generation,
            attempt,
        )
        .bind(i64::from(seen.status.code()))
        .bind(i64::from(seen.attempt))
        .bind(i64::from(seen.generation))
        .bind(seen.owner.as_bytes().to_vec());
        self.won(transaction, query).await
    }

    async fn won(
        &self,
        transaction: &mut SqliteTransaction<'_>,
        query: bind::Bound<'_, Sqlite>,
    ) -> Result<bool, Error> {
        let done = transaction
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| error::tables::<SqliteCodes>("claim the key", source))?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        transaction.mark().await?;
        Ok(true)
    }

    /// Where the lease of the record that was seen has ended, its outcome becomes unknown. Returns whether it
    /// has: its owner may have come back in between.
    async fn hold(
        &self,
        transaction: &mut SqliteTransaction<'_>,
        claim: &StoreClaim,
        seen: &Record,
    ) -> Result<bool, Error> {
        let query = bind::hold(sqlx::query::<Sqlite>(self.sql().hold.clone()), claim, seen);
        let done = transaction
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| store_error("claim the key", source))?;
        Ok(done.rows_affected() > 0)
    }

    async fn view_on(
        &self,
        connection: &mut SqliteConnection,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
    ) -> Result<View, Error> {
        let failed = |source| error::tables::<SqliteCodes>("read the record", source);
        let query = |sql: &sqlx::SqlStr| {
            sqlx::query::<Sqlite>(sql.clone())
                .bind(key.tenant().as_str().to_owned())
                .bind(key.as_str().to_owned())
        };
        let record = connection.fetch_one(query(&self.sql().record)).await.map_err(failed)?;
        let own = connection
            .fetch_optional(query(&self.sql().own))
            .await
            .map_err(failed)?;
        let holder = match place {
            Some(place) => connection
                .fetch_optional(query(&self.sql().place).bind(place.to_vec()))
                .await
                .map_err(failed)?,
            None => None,
        };
        let own = own.map(|row| rows::standing(&row)).transpose()?.flatten();
        let place = holder.map(|row| rows::reference(&row, "place_")).transpose()?.flatten();
        Ok(View {
            record: rows::record(&record)?,
            ledger: LedgerView { own, place },
            now: rows::now(&record)?,
        })
    }
}

impl SqliteStore {
    /// A connection outside of any transaction.
    async fn acquire(&self) -> Result<PoolConnection<Sqlite>, Error> {
        crate::transaction::acquire(self.pool())
            .await
            .map_err(|source| error::acquire::<SqliteCodes>("open the database", source))
    }

    /// Runs one statement of a settlement; whether it changed anything.
    async fn settle_by(
        &self,
        transaction: &mut SqliteTransaction<'_>,
        sql: &sqlx::SqlStr,
        key: &IdempotencyKey,
        event: &Settlement,
    ) -> Result<bool, Error> {
        let query = bind::settlement(sqlx::query::<Sqlite>(sql.clone()), key, event);
        let done = transaction
            .as_mut()
            .execute(query)
            .await
            .map_err(|source| store_error("settle a claim", source))?;
        Ok(done.rows_affected() > 0)
    }

    async fn origin_on(&self, connection: &mut SqliteConnection, key: &IdempotencyKey) -> Result<Option<Entry>, Error> {
        let query = sqlx::query::<Sqlite>(self.sql().origin.clone())
            .bind(key.tenant().as_str().to_owned())
            .bind(key.as_str().to_owned());
        let row = connection
            .fetch_optional(query)
            .await
            .map_err(|source| error::tables::<SqliteCodes>("read the ledger", source))?;
        row.map(|row| rows::origin(&row, key)).transpose()
    }
}

impl Store for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
            .with_ledger(true)
            .with_shared(true)
            .with_storage_clock(true)
    }

    async fn view(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>) -> Result<View, Error> {
        let failed = |source| error::tables::<SqliteCodes>("read the record", source);
        // One snapshot for its three statements.
        let mut transaction = self.pool().begin().await.map_err(failed)?;
        let view = self.view_on(&mut transaction, key, place).await?;
        transaction.commit().await.map_err(failed)?;
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
        self.origin_on(&mut *self.acquire().await?, key).await
    }

    async fn open_claims(&self, older_than: Duration, limit: u32) -> Result<Vec<OpenClaim>, Error> {
        let query = sqlx::query::<Sqlite>(self.sql().open_claims.clone())
            .bind(millis(older_than))
            .bind(i64::from(limit));
        let rows = self
            .acquire()
            .await?
            .fetch_all(query)
            .await
            .map_err(|source| error::tables::<SqliteCodes>("list what is open", source))?;
        rows.iter().map(rows::open_claim).collect()
    }

    async fn purge(&self, batch: u32) -> Result<u64, Error> {
        let query = sqlx::query::<Sqlite>(self.sql().purge.clone()).bind(i64::from(batch));
        let done = self
            .acquire()
            .await?
            .execute(query)
            .await
            .map_err(|source| error::tables::<SqliteCodes>("remove expired records", source))?;
        Ok(done.rows_affected())
    }
}

impl TransactionalStore for SqliteStore {
    type Connection = SqliteConnection;
    type Transaction<'c> = SqliteTransaction<'c>;

    async fn begin(&self, tenant: &Tenant) -> Result<SqliteTransaction<'static>, Error> {
        let mut transaction = SqliteTransaction::begin(self).await?;
        self.prepare(transaction.as_mut(), tenant).await?;
        Ok(transaction)
    }

    async fn nest<'c>(&self, connection: &'c mut SqliteConnection) -> Result<SqliteTransaction<'c>, Error> {
        SqliteTransaction::nest(connection).await
    }

    async fn claim_in(&self, transaction: &mut Self::Transaction<'_>, claim: &StoreClaim) -> Result<Reply, Error> {
        if self.insert(transaction, claim, 1).await? {
            return Ok(Reply::Claimed {
                generation: 1,
                attempt: 1,
                took_over: false,
            });
        }
        // Nobody else can write while this transaction is open, so what is seen here stands.
        let view = self
            .view_on(transaction.as_mut(), &claim.key, claim.place.as_ref())
            .await?;
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
        if !transaction.is_intact().await? {
            return Err(error::ended_by_effect());
        }
        // The record, the entry with its detail, and the record once more.
        let (sql, all) = match &completion.entry {
            Some(_) => (&self.sql().complete, 4),
            None => (&self.sql().complete_without_entry, 1),
        };
        let query = bind::completion(sqlx::query::<Sqlite>(sql.clone()), completion);
        match transaction
            .as_mut()
            .execute(query)
            .await
            .map(|done| done.rows_affected())
        {
            Ok(0) => {
                let view = self.view_on(transaction.as_mut(), &completion.key, None).await?;
                Ok(rows::completed(view, completion))
            }
            Ok(rows) if rows == all => Ok(Completed::Done),
            Ok(rows) => Err(error::corrupt(format!(
                "recording an outcome wrote {rows} rows instead of {all}; nothing was committed"
            ))),
            Err(source) if self.violates_place(&source) => Ok(Completed::PlaceTaken),
            Err(source) => Err(store_error("record the outcome", source)),
        }
    }

    async fn append_in(&self, transaction: &mut Self::Transaction<'_>, entry: &Entry) -> Result<Completed, Error> {
        let query = bind::entry(sqlx::query::<Sqlite>(self.sql().append.clone()), entry);
        match transaction.as_mut().execute(query).await {
            Ok(_) => Ok(Completed::Done),
            Err(source) if self.violates_place(&source) => Ok(Completed::PlaceTaken),
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
        error::classify::<SqliteCodes>(error)
    }
}

impl SqliteStore {
    fn violates_place(&self, source: &sqlx::Error) -> bool {
        let column = format!("{}.place,", self.ledger_table());
        source
            .as_database_error()
            .is_some_and(|error| error.is_unique_violation() && error.message().contains(&column))
    }
}
