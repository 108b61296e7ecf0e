use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

use idem_core::{Error, ErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Sqlite, Transaction};
use tokio::sync::OwnedMutexGuard;

use super::{SqliteCodes, SqliteStore, store_error};
use crate::error;

/// An open SQLite transaction, or a savepoint in one. Dropping it rolls it back.
pub struct SqliteTransaction<'c> {
    // Taken by the commit and the roll-back alone, which consume the whole.
    inner: Option<Transaction<'c, Sqlite>>,
    nested: bool,
    mark: Mark,
    // After the transaction: the next writer's turn comes when this one has ended.
    _turn: Option<OwnedMutexGuard<()>>,
}

/// What is known of the mark.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    None,
    Set,
    /// The effect has ended the transaction.
    Gone,
}

/// Marks the place in the transaction where the effect begins. If the mark is gone afterwards, the
/// effect has ended the transaction, whatever it may have begun since.
const SET_MARK: &str = "SAVEPOINT idem_effect";
const RELEASE_MARK: &str = "RELEASE idem_effect";

impl SqliteTransaction<'static> {
    /// Waits for this process's turn and opens a transaction that writes.
    ///
    /// # Cancel safety
    ///
    /// The connection returns to the pool outside of any transaction: BEGIN runs in a task of its own,
    /// which a dropped caller does not reach and which rolls back what nobody waits for.
    pub(super) async fn begin(store: &SqliteStore) -> Result<Self, Error> {
        let turn = store.turn().await?;
        let connection = acquire(store).await?;
        let began = tokio::spawn(Transaction::begin(
            connection,
            Some(sqlx::SqlStr::from_static("BEGIN IMMEDIATE")),
        ))
        .await;
        let began = began.map_err(|source| Error::store("open a transaction: the runtime is shutting down", source))?;
        let inner = began.map_err(|source| store_error("open a transaction", source))?;
        Ok(Self {
            inner: Some(inner),
            nested: false,
            mark: Mark::None,
            _turn: Some(turn),
        })
    }
}

/// Takes a connection outside of any transaction.
///
/// An effect that ended its transaction and was then cancelled leaves a connection that the driver
/// counts as inside of one for ever.
async fn acquire(store: &SqliteStore) -> Result<PoolConnection<Sqlite>, Error> {
    loop {
        let mut connection = store
            .pool()
            .acquire()
            .await
            .map_err(|source| store_error("open the database", source))?;
        if !connection.is_in_transaction() {
            return Ok(connection);
        }
        connection.close_on_drop();
    }
}

impl<'c> SqliteTransaction<'c> {
    /// Opens a savepoint.
    pub(super) async fn nest(connection: &'c mut SqliteConnection) -> Result<Self, Error> {
        if !connection.is_in_transaction() {
            let message = "`join` needs an open transaction; begin one with `pool.begin_with(\"BEGIN IMMEDIATE\")` and hand it over as `&mut *tx` (a BEGIN sent as a statement does not count: sqlx would not know of it)";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let inner = connection
            .begin()
            .await
            .map_err(|source| store_error("open a savepoint", source))?;
        Ok(Self {
            inner: Some(inner),
            nested: true,
            mark: Mark::None,
            _turn: None,
        })
    }

    /// Marks the beginning of the effect.
    pub(super) async fn mark(&mut self) -> Result<(), Error> {
        self.inner()
            .execute(SET_MARK)
            .await
            .map_err(|source| store_error("open a savepoint", source))?;
        self.mark = Mark::Set;
        Ok(())
    }

    /// Whether the transaction in which the mark was set is still open. The mark is gone afterwards.
    pub(super) async fn is_intact(&mut self) -> Result<bool, Error> {
        if self.mark == Mark::Set {
            self.mark = match self.inner().execute(RELEASE_MARK).await {
                Ok(_) => Mark::None,
                Err(sqlx::Error::Database(error)) if error.message().starts_with("no such savepoint") => Mark::Gone,
                Err(source) => return Err(store_error("record the outcome", source)),
            };
        }
        Ok(self.mark != Mark::Gone)
    }

    pub(super) async fn commit(mut self) -> Result<(), Error> {
        let Some(inner) = self.inner.take() else {
            return Ok(());
        };
        match inner.commit().await {
            Ok(()) => Ok(()),
            Err(source) if self.nested => Err(store_error("release the savepoint", source)),
            Err(source) => Err(error::commit::<SqliteCodes>(source)),
        }
    }

    /// Rolls back, and tells when the effect has ended the transaction.
    pub(super) async fn rollback(mut self) -> Result<(), Error> {
        let ended = matches!(self.is_intact().await, Ok(false));
        if ended {
            self.even_out().await;
        }
        if let Some(inner) = self.inner.take() {
            inner
                .rollback()
                .await
                .map_err(|source| store_error("roll back", source))?;
        }
        if ended { Err(error::ended_by_effect()) } else { Ok(()) }
    }

    /// Gives the driver something to roll back.
    ///
    /// It counts the transactions and savepoints that it has opened, does not see that the effect has
    /// ended them, and lowers its count only when a roll-back succeeds; with the count off, the
    /// connection would be handed on as if it were in a transaction. How many savepoints the caller of
    /// a `join` has open is not known, so there are enough.
    async fn even_out(&mut self) {
        // Fails where the effect has begun a transaction of its own, which does as well.
        let _ = self.inner().execute(BEGIN).await;
        if self.nested {
            for depth in 1..=MOST_SAVEPOINTS {
                // Safe: a number is put in.
                let savepoint = AssertSqlSafe(format!("SAVEPOINT _sqlx_savepoint_{depth}"));
                let _ = self.inner().execute(savepoint).await;
            }
        }
    }

    fn inner(&mut self) -> &mut Transaction<'c, Sqlite> {
        // Only `commit` and `rollback` take it, and they consume the whole.
        self.inner.as_mut().expect("the transaction is open")
    }
}

impl AsMut<SqliteConnection> for SqliteTransaction<'_> {
    fn as_mut(&mut self) -> &mut SqliteConnection {
        self.inner()
    }
}

impl Drop for SqliteTransaction<'_> {
    /// The effect may have ended the transaction before it was cancelled or its guard dropped. BEGIN
    /// fails where the transaction is open still, and otherwise gives the roll-back, which the driver
    /// queues next, something to roll back. Polled once, it is on its way to the driver's thread.
    fn drop(&mut self) {
        if let Some(inner) = &mut self.inner
            && !self.nested
            && self.mark == Mark::Set
        {
            let _ = pin!(inner.execute(BEGIN))
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

const BEGIN: &str = "BEGIN";
/// Nobody nests deeper.
const MOST_SAVEPOINTS: u32 = 16;
