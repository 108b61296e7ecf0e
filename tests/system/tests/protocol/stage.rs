//! What the tests of crashes, races and cancellations play on: one effect, a row that carries the nonce of the attempt that
//! wrote it, on either database, in this process or in a child.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem::{Done, EffectError, Error, Idem, PgStore, SqliteStore, TransactionalStore};
use idem_system_tests::{Postgres, Sqlite, postgres, sqlite};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{PgConnection, SqliteConnection};

use crate::support::{Receipt, Refund};

/// A database of one test.
pub trait Database: Sized {
    type Store: Effects;

    fn fresh() -> Self;
    fn address(&self) -> String;

    /// A front door on it, with the tables made.
    async fn front(&self, connections: u32) -> Idem<Self::Store> {
        Idem::new(Self::Store::create(&self.address(), connections).await)
    }
}

/// A store whose database has the table of the effects.
pub trait Effects: TransactionalStore {
    /// Opens a pool of its own and makes the tables.
    async fn create(url: &str, connections: u32) -> Self;
    /// Opens a pool of its own on tables that are there. `busy` is how long SQLite waits for another writer.
    async fn attach(url: &str, connections: u32, busy: Duration) -> Self;
    /// The effect.
    fn insert(
        connection: &mut Self::Connection,
        case_id: &str,
        nonce: u64,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    /// The first column of a query, as whole numbers, read outside of the protocol.
    async fn numbers(&self, query: &'static str) -> Vec<i64>;

    async fn number(&self, query: &'static str) -> i64 {
        self.numbers(query).await[0]
    }
}

/// Instantiates generic tests for both databases: `on_both!(name, ..)` makes `postgres::name` and `sqlite::name`.
macro_rules! on_both {
    ($($(#[$attribute:meta])* $name:ident),+ $(,)?) => {
        mod postgres {
            $($(#[$attribute])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name::<idem_system_tests::Postgres>().await;
            })+
        }
        mod sqlite {
            $($(#[$attribute])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name::<idem_system_tests::Sqlite>().await;
            })+
        }
    };
}
pub(crate) use on_both;

/// Plays a generic role on the database that the parent named.
macro_rules! on_the_named {
    ($role:ident) => {{
        let url = idem_system_tests::process::argument("DATABASE");
        idem_system_tests::process::block_on(async {
            if url.starts_with("sqlite:") {
                $role(idem::Idem::new(
                    <idem::SqliteStore as $crate::stage::Effects>::attach(&url, 5, $crate::stage::BUSY).await,
                ))
                .await;
            } else {
                $role(idem::Idem::new(
                    <idem::PgStore as $crate::stage::Effects>::attach(&url, 5, $crate::stage::BUSY).await,
                ))
                .await;
            }
        });
    }};
}
pub(crate) use on_the_named;

/// Sends a call whose effect is one row, and returns the nonce in it.
pub async fn pay<S: Effects>(idem: &Idem<S>, refund: &Refund, wait: Duration) -> Result<Done<Receipt>, Error> {
    idem.call(refund)
        .wait(wait)
        .transaction(async |tx: &mut S::Connection| payout::<S>(tx, refund).await)
        .await
}

/// The effect: one row with a new nonce.
pub async fn payout<S: Effects>(connection: &mut S::Connection, refund: &Refund) -> Result<Receipt, EffectError> {
    let nonce = nonce();
    S::insert(connection, &refund.case_id, nonce).await?;
    Ok(Receipt {
        case_id: refund.case_id.clone(),
        nonce,
    })
}

/// A number that no other attempt has, in any process; the upper part is the process.
pub fn nonce() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 20 | COUNT.fetch_add(1, Ordering::Relaxed)
}

/// The process of the attempt that drew a nonce.
pub fn drawn_by(nonce: u64) -> u32 {
    u32::try_from(nonce >> 20).expect("a number of a process")
}

/// Asserts that the one effect of the database is the row of `receipt`, and that the ledger has it once.
#[track_caller]
pub fn one_effect<S: Effects>(idem: &Idem<S>, receipt: &Receipt) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let nonces = idem.store().numbers(NONCES).await;
        let nonce = i64::try_from(receipt.nonce).expect("nonces are small");
        assert_eq!(nonces, [nonce], "the rows of the effect, at {caller}");
        assert_eq!(
            idem.store().number(EXECUTED).await,
            1,
            "executed entries of the ledger, at {caller}"
        );
    }
}

/// Asserts that no effect stands and nothing is recorded.
pub async fn nothing_stands<S: Effects>(idem: &Idem<S>) {
    for query in [PAYOUTS, RECORDS, ENTRIES] {
        assert_eq!(idem.store().number(query).await, 0, "{query}");
    }
}

/// Asserts that each key has as many effects as the ledger says, at most one.
pub async fn no_effect_twice<S: Effects>(idem: &Idem<S>) {
    assert_eq!(
        idem.store().number(TWICE).await,
        0,
        "keys whose effect happened more than once"
    );
    assert_eq!(
        idem.store().number(PAYOUTS).await,
        idem.store().number(EXECUTED).await,
        "effects against executed entries"
    );
    assert_eq!(
        idem.store().number(EXECUTED).await,
        idem.store().number(SUCCEEDED).await,
        "executed entries against records of a success"
    );
    assert_eq!(
        idem.store().number(OPEN).await,
        0,
        "records that are committed without an outcome"
    );
}

/// Small random numbers: what matters is that they differ, and the timing of a test is random anyway.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

impl Database for Postgres {
    type Store = PgStore;

    fn fresh() -> Self {
        postgres()
    }

    fn address(&self) -> String {
        self.url().to_owned()
    }
}

impl Database for Sqlite {
    type Store = SqliteStore;

    fn fresh() -> Self {
        sqlite()
    }

    fn address(&self) -> String {
        self.url()
    }
}

/// A pool that sends nothing of its own and gives up soon.
pub async fn pg_pool(url: &str, connections: u32) -> sqlx::PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .connect(url)
        .await
        .expect("a pool on the database of the test")
}

async fn sqlite_pool(url: &str, connections: u32, busy: Duration) -> sqlx::SqlitePool {
    let options: SqliteConnectOptions = url.parse().expect("the URL of a file");
    SqlitePoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .connect_with(options.journal_mode(SqliteJournalMode::Wal).busy_timeout(busy))
        .await
        .expect("a pool on the file of the test")
}

impl Effects for PgStore {
    async fn create(url: &str, connections: u32) -> Self {
        let pool = pg_pool(url, connections).await;
        sqlx::query(CREATE_PAYOUTS).execute(&pool).await.expect("created");
        Self::new(pool).migrate().await.expect("migrated")
    }

    async fn attach(url: &str, connections: u32, _: Duration) -> Self {
        Self::new(pg_pool(url, connections).await).open().await.expect("opened")
    }

    async fn insert(connection: &mut PgConnection, case_id: &str, nonce: u64) -> Result<(), sqlx::Error> {
        sqlx::query(INSERT_PAYOUT)
            .bind(case_id)
            .bind(i64::try_from(nonce).expect("nonces are small"))
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn numbers(&self, query: &'static str) -> Vec<i64> {
        sqlx::query_scalar(query).fetch_all(self.pool()).await.expect(query)
    }
}

impl Effects for SqliteStore {
    async fn create(url: &str, connections: u32) -> Self {
        let pool = sqlite_pool(url, connections, BUSY).await;
        sqlx::query(CREATE_PAYOUTS).execute(&pool).await.expect("created");
        Self::new(pool).migrate().await.expect("migrated")
    }

    async fn attach(url: &str, connections: u32, busy: Duration) -> Self {
        Self::new(sqlite_pool(url, connections, busy).await)
            .open()
            .await
            .expect("opened")
    }

    async fn insert(connection: &mut SqliteConnection, case_id: &str, nonce: u64) -> Result<(), sqlx::Error> {
        sqlx::query(INSERT_PAYOUT)
            .bind(case_id)
            .bind(i64::try_from(nonce).expect("nonces are small"))
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn numbers(&self, query: &'static str) -> Vec<i64> {
        sqlx::query_scalar(query).fetch_all(self.pool()).await.expect(query)
    }
}

/// How long SQLite waits for another writer where a test does not say otherwise.
pub const BUSY: Duration = Duration::from_secs(10);
/// Longer than any of these tests has to wait.
pub const LONG: Duration = Duration::from_secs(30);

const CREATE_PAYOUTS: &str = "CREATE TABLE IF NOT EXISTS payouts (case_id text NOT NULL, nonce bigint NOT NULL)";
const INSERT_PAYOUT: &str = "INSERT INTO payouts (case_id, nonce) VALUES ($1, $2)";
const NONCES: &str = "SELECT nonce FROM payouts";
pub const PAYOUTS: &str = "SELECT count(*) FROM payouts";
pub const EXECUTED: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'executed'";
pub const RECORDS: &str = "SELECT count(*) FROM idem_record";
const ENTRIES: &str = "SELECT count(*) FROM idem_ledger";
const SUCCEEDED: &str = "SELECT count(*) FROM idem_record WHERE status = 1 AND outcome_kind = 0";
const OPEN: &str = "SELECT count(*) FROM idem_record WHERE status = 0";
const TWICE: &str = "SELECT count(*) FROM (SELECT case_id FROM payouts GROUP BY case_id HAVING count(*) > 1) AS twice";
