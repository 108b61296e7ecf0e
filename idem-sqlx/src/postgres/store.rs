use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use idem_core::{Error, Tenant, millis};
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr as _, SqlStr};

use super::roles::PgRoles;
use super::sql::Sql;
use super::store_error;
use crate::names::Names;
use crate::schema;

/// Records and ledger in PostgreSQL 13 or newer.
///
/// A call is one transaction with two statements beside the effect's own: the claim, and the last
/// one, which records the outcome and the ledger entry. Duplicates of a running call are told at
/// once.
///
/// # Poolers
///
/// All that a call needs is inside of its transaction, so a pooler in transaction mode, such as PgBouncer, may stand
/// between, for [`migrate`](Self::migrate) too. Prepared statements are the exception: sqlx names those that it sends,
/// alike on every connection. PgBouncer keeps them apart from 1.21 on, with `max_prepared_statements`. With an older
/// one, or without that setting,
///
/// - set [`persistent_statements(false)`](Self::persistent_statements) on the store, and
/// - `.persistent(false)` on every query of an effect that binds something, since an effect shares the connection.
///
/// Otherwise calls fail with an error that says so, as a rule at once. As a rule only: a name that stands for another
/// statement with the same parameters is run without an error, whoever sends it, so the settings are not optional. In
/// either case PgBouncer needs `ignore_startup_parameters = extra_float_digits`, which sqlx sends.
///
/// # Pools
///
/// Clones share the pool. sqlx's pools ping a connection each time it is acquired unless
/// `test_before_acquire(false)` is set, which costs a round trip per call.
#[derive(Clone)]
pub struct PgStore {
    pool: PgPool,
    shared: Arc<Shared>,
}

struct Shared {
    setup: Setup,
    sql: Sql,
    begin: SqlStr,
}

#[derive(Clone)]
struct Setup {
    names: Names,
    advisory: bool,
    persistent_statements: bool,
    idle_timeout: Duration,
    on_begin: Option<OnBegin>,
    test_clock: bool,
}

type OnBegin = Arc<dyn for<'c> Fn(&'c mut PgConnection, &'c Tenant) -> Prepared<'c> + Send + Sync>;
type Prepared<'c> = Pin<Box<dyn Future<Output = Result<(), sqlx::Error>> + Send + 'c>>;

/// How long an effect may leave its transaction idle before PostgreSQL ends it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call waits for a connection of a pool that is made here.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a claim waits for another one where it cannot ask: without advisory locks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

impl PgStore {
    /// Opens a pool of up to ten connections on a URL such as `postgres://user@host/database`, and
    /// brings the tables up to date. A call waits up to 10 seconds for a connection.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](idem_core::ErrorKind::Store) and [`Schema`](idem_core::ErrorKind::Schema).
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            let message = "the URL does not begin with `postgres://`, so it names no PostgreSQL database; use `postgres://user@host/database`";
            return Err(Error::new(idem_core::ErrorKind::Misuse, message));
        }
        let failed = |source| {
            store_error(
                "connect to PostgreSQL; check that the server runs, and host, port, database, user and password of the URL",
                source,
            )
        };
        // A pool keeps trying while nobody listens; the first connection tells at once.
        PgConnection::connect(url)
            .await
            .map_err(failed)?
            .close()
            .await
            .map_err(failed)?;
        let pool = PgPoolOptions::new()
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect(url)
            .await
            .map_err(failed)?;
        Self::new(pool).migrate().await
    }

    /// Uses a pool of the application's. Ends in [`migrate`](Self::migrate) or [`open`](Self::open).
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        let setup = Setup {
            names: Names::default(),
            advisory: true,
            persistent_statements: true,
            idle_timeout: IDLE_TIMEOUT,
            on_begin: None,
            test_clock: false,
        };
        Self::assemble(pool, setup)
    }

    fn assemble(pool: PgPool, setup: Setup) -> Self {
        // One simple query, one round trip; the parameter holds a signed 32-bit number.
        let idle_timeout = millis(setup.idle_timeout).min(i64::from(i32::MAX));
        let mut begin = format!("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{idle_timeout}ms'");
        if !setup.advisory {
            // A claim waits on the unique index then.
            begin.push_str(&format!("; SET LOCAL lock_timeout = '{}ms'", millis(LOCK_TIMEOUT)));
        }
        // Safe: only numbers are put in.
        let begin = AssertSqlSafe(Arc::<str>::from(begin)).into_sql_str();
        let sql = Sql::new(&setup.names, setup.advisory, setup.test_clock);
        Self {
            pool,
            shared: Arc::new(Shared { setup, sql, begin }),
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
    /// Kind [`Misuse`](idem_core::ErrorKind::Misuse) when the prefix would need quoting or is longer than 32
    /// characters.
    pub fn table_prefix(self, prefix: &str) -> Result<Self, Error> {
        let names = Names::with_prefix(prefix)?;
        Ok(self.with(|setup| setup.names = names))
    }

    /// Whether a running claim is found by an advisory lock. Default: yes.
    ///
    /// Switch it off on engines that speak PostgreSQL's protocol without having them. A duplicate then
    /// waits on the unique index, up to 5 seconds (`lock_timeout`, which holds for the effect's own
    /// statements too). Nothing else depends on the locks.
    #[must_use]
    pub fn advisory_locks(self, advisory: bool) -> Self {
        self.with(|setup| setup.advisory = advisory)
    }

    /// Whether the statements of this store are prepared once on each connection and kept under names. Default: yes.
    ///
    /// Switch it off behind a pooler in transaction mode that does not keep prepared statements apart: see
    /// [Poolers](#poolers). Each statement is then parsed each time it is sent, which costs a round trip, and what reads
    /// outside of a call (the probe, [`peek`](idem_core::Idem::peek), [`stuck`](idem_core::Idem::stuck), a purge) opens a
    /// transaction for it. The queries of effects are the application's, and need `.persistent(false)` each.
    #[must_use]
    pub fn persistent_statements(self, persistent: bool) -> Self {
        self.with(|setup| setup.persistent_statements = persistent)
    }

    /// How long an effect may leave its transaction idle before PostgreSQL ends it, so that a hung
    /// process does not hold its claim. Default: 60 seconds; zero for no limit.
    #[must_use]
    pub fn idle_in_transaction_timeout(self, idle_timeout: Duration) -> Self {
        self.with(|setup| setup.idle_timeout = idle_timeout)
    }

    /// Runs `prepare` in every transaction before the claim, with the call's tenant: for row-level
    /// security, a search path or a role. Not in [`join`](idem_core::Call::join), where the
    /// transaction is the caller's.
    #[must_use]
    pub fn on_begin<F>(self, prepare: F) -> Self
    where
        F: for<'c> Fn(&'c mut PgConnection, &'c Tenant) -> Prepared<'c> + Send + Sync + 'static,
    {
        self.with(|setup| setup.on_begin = Some(Arc::new(prepare)))
    }

    /// Brings the tables up to date and checks them. Any number of processes may do so at once.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](idem_core::ErrorKind::Schema) when the tables need newer code than this, kind
    /// [`Store`](idem_core::ErrorKind::Store) when the database does not answer or refuses.
    ///
    /// # Cancel safety
    ///
    /// Migrations are applied whole or not at all.
    pub async fn migrate(self) -> Result<Self, Error> {
        schema::postgres::migrate(&self.pool, &self.shared.setup.names).await?;
        Ok(self)
    }

    /// Checks the tables without changing anything.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](idem_core::ErrorKind::Schema) when the tables are missing, too old or need newer code than
    /// this, kind [`Store`](idem_core::ErrorKind::Store) when the database does not answer.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn open(self) -> Result<Self, Error> {
        schema::postgres::check_tables(&self.pool, &self.shared.setup.names).await?;
        Ok(self)
    }

    /// Checks the tables as [`open`](Self::open) does: the versions, and that every table is there with the
    /// columns that this code uses. It reads, and needs the rights of the application's role only.
    ///
    /// # Errors
    ///
    /// Kind [`Schema`](idem_core::ErrorKind::Schema), naming what is missing and what to do, kind
    /// [`Store`](idem_core::ErrorKind::Store) when the database does not answer or refuses.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn check(&self) -> Result<(), Error> {
        schema::postgres::check_tables(&self.pool, &self.shared.setup.names).await
    }

    /// The embedded migrations as plain SQL in one transaction, to be run by hand where no tables of the
    /// prefix are yet; with `roles`, their grants too. The tables go to the first schema of `search_path`.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](idem_core::ErrorKind::Misuse) when the prefix cannot be one, as in
    /// [`table_prefix`](Self::table_prefix).
    ///
    /// # Examples
    ///
    /// ```
    /// use idem_sqlx::{PgRoles, PgStore};
    ///
    /// let roles = PgRoles::try_new("shop_owner", "shop", "audit")?;
    /// let sql = PgStore::migrations_sql("idem_", Some(&roles))?;
    /// assert!(sql.contains("GRANT SELECT, INSERT ON idem_ledger, idem_ledger_detail TO \"shop\";"));
    /// # Ok::<(), idem_core::Error>(())
    /// ```
    pub fn migrations_sql(prefix: &str, roles: Option<&PgRoles>) -> Result<String, Error> {
        Ok(schema::postgres::script(&Names::with_prefix(prefix)?, roles))
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
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(super) fn sql(&self) -> &Sql {
        &self.shared.sql
    }

    pub(super) fn ledger_table(&self) -> String {
        self.shared.setup.names.ledger()
    }

    pub(super) fn begin_statement(&self) -> SqlStr {
        self.shared.begin.clone()
    }

    pub(super) fn uses_advisory_locks(&self) -> bool {
        self.shared.setup.advisory
    }

    pub(super) fn has_persistent_statements(&self) -> bool {
        self.shared.setup.persistent_statements
    }

    pub(super) fn has_on_begin(&self) -> bool {
        self.shared.setup.on_begin.is_some()
    }

    pub(super) async fn prepare(&self, connection: &mut PgConnection, tenant: &Tenant) -> Result<(), Error> {
        let Some(prepare) = &self.shared.setup.on_begin else {
            return Ok(());
        };
        prepare(connection, tenant)
            .await
            .map_err(|source| store_error("prepare the transaction in `on_begin`", source))
    }
}
