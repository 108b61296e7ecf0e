use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use idem_core::Error;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use tokio::sync::Mutex;

use super::sql::Sql;
use super::store_error;
use crate::names::Names;
use crate::schema;

/// Records and ledger in an SQLite file, beside the tables that effects write to.
///
/// Every call is one `BEGIN IMMEDIATE` transaction. A file has one writer at a time: in this process
/// calls take turns, and a duplicate of a running call is told at once; across processes a call waits
/// for the file up to the busy time-out. Nothing slow may happen inside an effect, since it keeps all
/// other writers waiting.
///
/// Clones share the pool and the turn.
#[derive(Clone)]
pub struct SqliteStore {
    pool: SqlitePool,
    shared: Arc<Shared>,
}

struct Shared {
    sql: Sql,
    names: Names,
    turn: Arc<Mutex<()>>,
    busy_timeout: Duration,
}

/// How long a call waits for another process's transaction, and for its turn in this one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Readers do not wait for the writer in WAL mode.
const CONNECTIONS: u32 = 5;

impl SqliteStore {
    /// Opens a file by a URL such as `sqlite://orders.sqlite?mode=rwc`, and brings the tables up to
    /// date. It is put in WAL mode with `synchronous = FULL`, and waits 5 seconds for other writers.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](idem_core::ErrorKind::Store) and [`Schema`](idem_core::ErrorKind::Schema).
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let failed = |source| store_error(&format!("open the SQLite database `{url}`"), source);
        let options = SqliteConnectOptions::from_str(url)
            .map_err(failed)?
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT);
        // Each connection to a database in memory is a database of its own.
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let pool = SqlitePoolOptions::new().max_connections(if in_memory { 1 } else { CONNECTIONS });
        let pool = if in_memory {
            pool.idle_timeout(None).max_lifetime(None)
        } else {
            pool
        };
        let pool = pool.connect_with(options).await.map_err(failed)?;
        Self::new(pool).migrate().await
    }

    /// Uses a pool of the application's, which should be in WAL mode and have a busy time-out. Ends
    /// in [`migrate`](Self::migrate) or [`open`](Self::open).
    #[must_use]
    pub fn new(pool: SqlitePool) -> Self {
        Self::assemble(pool, Names::default(), BUSY_TIMEOUT)
    }

    fn assemble(pool: SqlitePool, names: Names, busy_timeout: Duration) -> Self {
        let shared = Shared {
            sql: Sql::new(&names),
            names,
            turn: Arc::default(),
            busy_timeout,
        };
        Self {
            pool,
            shared: Arc::new(shared),
        }
    }

    /// Prefix of the tables' names. Default: `idem_`.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](idem_core::ErrorKind::Misuse) when the prefix would need quoting or is longer
    /// than 32 characters.
    pub fn table_prefix(self, prefix: &str) -> Result<Self, Error> {
        let names = Names::with_prefix(prefix)?;
        Ok(Self::assemble(self.pool, names, self.shared.busy_timeout))
    }

    /// How long a call waits for its turn among the calls of this process. Default: 5 seconds.
    ///
    /// The wait for other processes is the pool's `busy_timeout`.
    #[must_use]
    pub fn turn_timeout(self, busy_timeout: Duration) -> Self {
        Self::assemble(self.pool, self.shared.names.clone(), busy_timeout)
    }

    /// Brings the tables up to date and checks them. Any number of processes may do so at once.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](idem_core::ErrorKind::Schema) when the tables need newer code than this, kind
    /// [`Store`](idem_core::ErrorKind::Store) when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn migrate(self) -> Result<Self, Error> {
        schema::sqlite::migrate(&self.pool, &self.shared.names).await?;
        Ok(self)
    }

    /// Checks the tables without changing anything.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](idem_core::ErrorKind::Schema) when the tables are missing, too old or need newer
    /// code than this, kind [`Store`](idem_core::ErrorKind::Store) when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn open(self) -> Result<Self, Error> {
        schema::sqlite::check_tables(&self.pool, &self.shared.names).await?;
        Ok(self)
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    pub(super) fn sql(&self) -> &Sql {
        &self.shared.sql
    }

    pub(super) fn ledger_table(&self) -> String {
        self.shared.names.ledger()
    }

    pub(super) fn turn(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.shared.turn)
    }

    pub(super) fn busy_timeout(&self) -> Duration {
        self.shared.busy_timeout
    }
}
