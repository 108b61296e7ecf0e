//! What the transactions of both drivers have in common.
//!
//! sqlx counts the transactions and savepoints that it has opened on a connection, and hides the
//! count in its own `Transaction`. That type cannot close a connection that is off, and in sqlx 0.9.0
//! a `begin()` that is dropped inside of a transaction rolls the whole transaction back. So a
//! transaction of its own is driven here through the trait that the type is made of, and a savepoint
//! by statements that sqlx does not count.

use std::sync::atomic::{AtomicU64, Ordering};

use idem_core::{Error, ErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Database, SqlSafeStr as _, SqlStr};
use sqlx_core::transaction::TransactionManager;

type Manager<DB> = <DB as Database>::TransactionManager;

/// A connection of the pool in a transaction of ours; dropped, it is rolled back.
pub(crate) struct Root<DB: Database> {
    // Taken by `close` alone.
    connection: Option<PoolConnection<DB>>,
    /// Whether COMMIT or ROLLBACK is under way.
    is_ending: bool,
}

impl<DB: Database> Root<DB> {
    /// Opens a transaction.
    ///
    /// # Cancel safety
    ///
    /// BEGIN runs in a task of its own, which a dropped caller does not reach: it ends, and rolls back
    /// what nobody waits for. A dropped `begin()` can otherwise leave BEGIN under way on a connection
    /// that counts as idle, and the next borrower's statements would never be committed.
    pub(crate) async fn begin(
        connection: PoolConnection<DB>,
        statement: SqlStr,
    ) -> Result<Result<Self, sqlx::Error>, Error> {
        let begin = async move {
            let mut root = Self {
                connection: Some(connection),
                is_ending: false,
            };
            Manager::<DB>::begin(root.connection(), Some(statement)).await?;
            Ok(root)
        };
        let began = tokio::spawn(begin).await;
        began.map_err(|source| Error::store("open a transaction: the runtime is shutting down", source))
    }

    pub(crate) fn connection(&mut self) -> &mut DB::Connection {
        // Only `close` takes it, and it consumes the whole.
        self.connection
            .as_mut()
            .expect("the connection is here until the transaction ends")
    }

    /// How many transactions and savepoints sqlx has open; one, when the effect has left none behind.
    pub(crate) fn depth(&self) -> usize {
        self.connection
            .as_ref()
            .map_or(0, |connection| Manager::<DB>::get_transaction_depth(connection))
    }

    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.is_ending = true;
        let ended = Manager::<DB>::commit(self.connection()).await;
        self.is_ending = false;
        ended
    }

    /// Rolls one transaction or savepoint of sqlx's back.
    pub(crate) async fn roll_back_one(&mut self) -> Result<(), sqlx::Error> {
        self.is_ending = true;
        let ended = Manager::<DB>::rollback(self.connection()).await;
        self.is_ending = false;
        ended
    }

    /// Closes the connection instead of giving it back.
    pub(crate) fn close(mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.close_on_drop();
        }
    }
}

impl<DB: Database> Drop for Root<DB> {
    fn drop(&mut self) {
        let is_ending = usize::from(self.is_ending);
        if let Some(connection) = &mut self.connection {
            // Read once: SQLite's driver lowers it in its own thread. That thread also expects one roll-back from
            // whoever did not wait for the end of a COMMIT or ROLLBACK, to ignore it, and would ignore the next.
            for _ in 0..Manager::<DB>::get_transaction_depth(connection).max(is_ending) {
                Manager::<DB>::start_rollback(connection);
            }
        }
    }
}

/// Takes a connection outside of any transaction: one that the driver counts as inside of one was
/// spoilt by whoever had it before.
pub(crate) async fn acquire<DB: Database>(pool: &sqlx::Pool<DB>) -> Result<PoolConnection<DB>, sqlx::Error> {
    loop {
        let mut connection = pool.acquire().await?;
        if Manager::<DB>::get_transaction_depth(&connection) == 0 {
            return Ok(connection);
        }
        connection.close_on_drop();
    }
}

/// The names of a savepoint that nobody else uses.
pub(crate) struct Savepoint(u64);

impl Savepoint {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn open(&self) -> SqlStr {
        self.statement("SAVEPOINT {}")
    }

    pub(crate) fn release(&self) -> SqlStr {
        self.statement("RELEASE SAVEPOINT {}")
    }

    pub(crate) fn roll_back(&self) -> SqlStr {
        self.statement("ROLLBACK TO SAVEPOINT {}; RELEASE SAVEPOINT {}")
    }

    fn statement(&self, template: &str) -> SqlStr {
        // Safe: a number is put in.
        AssertSqlSafe(template.replace("{}", &format!("idem_join_{}", self.0))).into_sql_str()
    }
}

/// The effect has leaked a transaction of sqlx's, so what would be sent as COMMIT is another statement.
pub(crate) fn left_open() -> Error {
    let message =
        "the effect left a nested transaction open; nothing was committed. Commit or roll back what `begin()` returned";
    Error::new(ErrorKind::Misuse, message)
}
