use std::future::Future;
use std::pin::Pin;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use idem_core::{Error, ErrorKind, Tenant};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::sql::Sql;
use super::{is_busy, store_error};
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
    setup: Setup,
    sql: Sql,
}

#[derive(Clone)]
struct Setup {
    names: Names,
    turn_timeout: Duration,
    on_begin: Option<OnBegin>,
    test_clock: bool,
    turn: Arc<Mutex<()>>,
}

type OnBegin = Arc<dyn for<'c> Fn(&'c mut SqliteConnection, &'c Tenant) -> Prepared<'c> + Send + Sync>;
type Prepared<'c> = Pin<Box<dyn Future<Output = Result<(), sqlx::Error>> + Send + 'c>>;

/// How long a call waits for another process's transaction, and for its turn in this one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two attempts at what SQLite does not wait for by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Readers do not wait for the writer in WAL mode.
const CONNECTIONS: u32 = 5;

impl SqliteStore {
    /// Opens a file by a URL such as `sqlite://orders.sqlite?mode=rwc`, and brings the tables up to
    /// date. It is put in WAL mode with `synchronous = FULL`, and waits 5 seconds for other writers.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](ErrorKind::Store) and [`Schema`](ErrorKind::Schema).
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        check_url(url)?;
        let failed = |source| {
            store_error(
                &format!(
                    "open the SQLite database `{url}`; the folder must exist, and `?mode=rwc` creates a missing file"
                ),
                source,
            )
        };
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
        // SQLite does not wait its busy time-out for the change of a new file to WAL mode, which
        // processes that start together all ask for.
        let mut pauses = BUSY_TIMEOUT.as_millis() / BUSY_PAUSE.as_millis();
        let pool = loop {
            match pool.clone().connect_with(options.clone()).await {
                Ok(pool) => break pool,
                Err(error) if is_busy(&error) && pauses > 0 => {
                    pauses -= 1;
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) => return Err(failed(error)),
            }
        };
        Self::new(pool).migrate().await
    }

    /// Uses a pool of the application's, which should be in WAL mode and have a busy time-out. Ends
    /// in [`migrate`](Self::migrate) or [`open`](Self::open).
    #[must_use]
    pub fn new(pool: SqlitePool) -> Self {
        let setup = Setup {
            names: Names::default(),
            turn_timeout: BUSY_TIMEOUT,
            on_begin: None,
            test_clock: false,
            turn: Arc::default(),
        };
        Self::assemble(pool, setup)
    }

    fn assemble(pool: SqlitePool, setup: Setup) -> Self {
        let sql = Sql::new(&setup.names, setup.test_clock);
        Self {
            pool,
            shared: Arc::new(Shared { setup, sql }),
        }
    }

    fn with(self, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = self.shared.setup.clone();
        change(&mut setup);
        Self::assemble(self.pool, setup)
    }

    /// Prefix of the tables' names. Default: `idem_`.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when the prefix would need quoting or is longer
    /// than 32 characters.
    pub fn table_prefix(self, prefix: &str) -> Result<Self, Error> {
        let names = Names::with_prefix(prefix)?;
        Ok(self.with(|setup| setup.names = names))
    }

    /// How long a call waits for its turn among the calls of this process. Default: 5 seconds.
    ///
    /// The wait for other processes is the pool's `busy_timeout`.
    #[must_use]
    pub fn turn_timeout(self, turn_timeout: Duration) -> Self {
        self.with(|setup| setup.turn_timeout = turn_timeout)
    }

    /// Runs `prepare` in every transaction before the claim, with the call's tenant. Not in
    /// [`join`](idem_core::Call::join), where the transaction is the caller's.
    #[must_use]
    pub fn on_begin<F>(self, prepare: F) -> Self
    where
        F: for<'c> Fn(&'c mut SqliteConnection, &'c Tenant) -> Prepared<'c> + Send + Sync + 'static,
    {
        self.with(|setup| setup.on_begin = Some(Arc::new(prepare)))
    }

    /// Brings the tables up to date and checks them. Any number of processes may do so at once.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](ErrorKind::Schema) when the tables need newer code than this, kind
    /// [`Store`](ErrorKind::Store) when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn migrate(self) -> Result<Self, Error> {
        schema::sqlite::migrate(&self.pool, &self.shared.setup.names).await?;
        Ok(self)
    }

    /// Checks the tables without changing anything.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](ErrorKind::Schema) when the tables are missing, too old or need newer
    /// code than this, kind [`Store`](ErrorKind::Store) when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn open(self) -> Result<Self, Error> {
        schema::sqlite::check_tables(&self.pool, &self.shared.setup.names).await?;
        Ok(self)
    }

    /// Checks the tables as [`open`](Self::open) does: the versions, and that every table is there with the
    /// columns that this code uses. It reads, and needs no right to change tables.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](ErrorKind::Schema), naming what is missing and what to do, kind
    /// [`Store`](ErrorKind::Store) when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn check(&self) -> Result<(), Error> {
        schema::sqlite::check_tables(&self.pool, &self.shared.setup.names).await
    }

    /// The embedded migrations as plain SQL, to be run by hand on an empty database.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when the prefix cannot be one, as in
    /// [`table_prefix`](Self::table_prefix).
    ///
    /// # Examples
    ///
    /// ```
    /// let sql = idem_sqlx::SqliteStore::migrations_sql("idem_")?;
    /// assert!(sql.contains("CREATE TABLE idem_record"));
    /// # Ok::<(), idem_core::Error>(())
    /// ```
    pub fn migrations_sql(prefix: &str) -> Result<String, Error> {
        Ok(schema::sqlite::script(&Names::with_prefix(prefix)?))
    }

    #[cfg(feature = "testing")]
    pub(crate) fn by_test_clock(self) -> Self {
        self.with(|setup| setup.test_clock = true)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn goes_by_test_clock(&self) -> bool {
        self.shared.setup.test_clock
    }

    #[cfg(feature = "testing")]
    pub(crate) fn names(&self) -> &Names {
        &self.shared.setup.names
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
        self.shared.setup.names.ledger()
    }

    /// Waits for this process's turn to write.
    pub(super) async fn turn(&self) -> Result<OwnedMutexGuard<()>, Error> {
        let Setup { turn, turn_timeout, .. } = &self.shared.setup;
        tokio::time::timeout(*turn_timeout, Arc::clone(turn).lock_owned())
            .await
            .map_err(|elapsed| {
                let what = "get a turn to write: another call in this process keeps its transaction open";
                Error::store(what, elapsed)
            })
    }

    pub(super) async fn prepare(&self, connection: &mut SqliteConnection, tenant: &Tenant) -> Result<(), Error> {
        let Some(prepare) = &self.shared.setup.on_begin else {
            return Ok(());
        };
        prepare(connection, tenant)
            .await
            .map_err(|source| store_error("prepare the transaction in `on_begin`", source))
    }
}

/// Refuses what SQLite would take for a database that is gone with its connection.
fn check_url(url: &str) -> Result<(), Error> {
    let path = url
        .strip_prefix("sqlite:")
        .map(|rest| rest.trim_start_matches("//").split('?').next().unwrap_or(""));
    if path.is_some_and(|path| !path.is_empty()) {
        return Ok(());
    }
    let message = format!(
        "`{}` names no SQLite database; use `sqlite://orders.sqlite?mode=rwc`, or `sqlite::memory:` for one that is not kept",
        url.escape_debug()
    );
    Err(Error::new(ErrorKind::Misuse, message))
}
