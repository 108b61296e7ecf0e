//! An input, its databases, and what is asked of them.

use std::time::{Duration, Instant};

use idem::{
    Done, Effect, Error, ErrorKind, Idem, PgStore, Recovery, Resolution, Settings, SqliteStore, Store,
    TransactionalStore, idempotent,
};
use idem_system_tests::{Postgres, PrivateServer, Restart, Sqlite, postgres, private_server, sqlite};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use crate::downstream::charge;

/// What is asked for.
#[idempotent(action = "card.charge", key = [tenant, order], subject = order)]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charge {
    pub tenant: String,
    pub order: String,
    pub cents: i64,
}

impl Charge {
    pub fn new(order: &str, cents: i64) -> Self {
        Self {
            tenant: "acme".into(),
            order: order.into(),
            cents,
        }
    }
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The downstream's number.
    pub number: u64,
    /// Which attempt got it.
    pub attempt: u32,
    pub cents: i64,
}

/// A database of one test.
pub trait Database: Sized + Sync {
    type Store: Stage;

    fn fresh() -> Self;
    fn address(&self) -> String;

    /// Restarts the server, if this is one that may be. Returns whether it did.
    fn restart(&self, _how: Restart) -> bool {
        false
    }
}

/// A store, and questions past it.
pub trait Stage: TransactionalStore + Clone {
    /// Opens a pool of its own, and makes what tables are missing.
    async fn attach(url: &str) -> Self {
        Self::try_attach(url).await.expect("the database of the test")
    }
    async fn try_attach(url: &str) -> Result<Self, Box<dyn std::error::Error>>;
    /// Breaks all connections but one's own, as a restart of the server does. Returns whether there is a server.
    async fn cut(&self) -> bool;
    async fn execute(&self, statement: &'static str) -> Result<(), sqlx::Error>;
    async fn number(&self, query: &'static str) -> i64;
    /// The effect of a transaction: a row.
    fn pay(connection: &mut Self::Connection, order: &str) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    /// Has the database refuse ledger entries of a kind.
    async fn refuse(&self, kind: &str);
    /// Has it seem that so much time has passed since everything that is on record.
    async fn pass(&self, time: Duration);
}

/// Instantiates generic tests for both databases: `on_both!(name, ..)` makes `postgres::name` and `sqlite::name`.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name::<idem_system_tests::Postgres>().await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name::<idem_system_tests::Sqlite>().await;
            })+
        }
    };
}
pub(crate) use on_both;

/// A front door with this lease. Its first connection may be cut.
pub async fn front<S: Stage>(url: &str, lease: Duration) -> Idem<S> {
    let mut tries = 0;
    let store = loop {
        match S::try_attach(url).await {
            Ok(store) => break store,
            Err(error) if tries == 100 => panic!("the database of the test: {error}"),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    Idem::with_settings(store, Settings::default().lease(lease)).expect("good settings")
}

/// One call.
pub async fn ask<S: Store>(
    idem: &Idem<S>,
    input: &Charge,
    recovery: Recovery,
    port: u16,
    delay: Duration,
) -> Result<Done<Receipt>, Error> {
    let cents = input.cents;
    let effect = async move |effect: Effect| {
        let number = charge(port, &effect.downstream_key().to_string(), delay).await?;
        effect.reference("downstream", number.to_string());
        Ok(Receipt {
            number,
            attempt: effect.attempt(),
            cents,
        })
    };
    idem.run(input, recovery, effect).await
}

/// Sends a call again for as long as it is told to, within reason.
pub async fn ask_until_answered<S: Store>(
    idem: &Idem<S>,
    input: &Charge,
    recovery: Recovery,
    port: u16,
) -> Result<Done<Receipt>, Error> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match ask(idem, input, recovery, port, Duration::ZERO).await {
            Err(error) if matches!(error.kind(), ErrorKind::InFlight | ErrorKind::Store) => {
                assert!(Instant::now() < deadline, "in flight for ever: {error:?}");
                let after = error.retry_after().unwrap_or(Duration::from_millis(50));
                tokio::time::sleep(after.min(Duration::from_millis(200))).await;
            }
            answer => return answer,
        }
    }
}

/// Says what came of a call whose outcome is unknown.
pub async fn resolve<S: Store>(idem: &Idem<S>, input: &Charge, receipt: Option<Receipt>) {
    let resolution = receipt.map_or(Resolution::DidNotHappen, Resolution::Happened);
    let resolved = idem.call(input).resolve(resolution, "who looked it up").await;
    resolved.expect("the outcome is unknown");
}

/// The key that the downstream gets for an input.
pub fn downstream_key<S: Store>(idem: &Idem<S>, input: &Charge) -> String {
    idem.call(input).key().expect("a key").downstream_key(1).to_string()
}

/// `hold`, or how many milliseconds the downstream remembers.
pub fn parse_recovery(text: &str) -> Recovery {
    match text {
        "hold" => Recovery::Hold,
        milliseconds => Recovery::Rerun {
            remembered_for: Duration::from_millis(milliseconds.parse().expect("milliseconds")),
        },
    }
}

pub fn recovery_text(recovery: Recovery) -> String {
    match recovery {
        Recovery::Hold => "hold".into(),
        Recovery::Rerun { remembered_for } => remembered_for.as_millis().to_string(),
    }
}

/// Small random numbers.
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

    pub fn within(&mut self, time: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(time.as_micros()).expect("a short time").max(1)))
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

impl Database for PrivateServer {
    type Store = PgStore;

    fn fresh() -> Self {
        private_server()
    }

    fn address(&self) -> String {
        self.url().to_owned()
    }

    fn restart(&self, how: Restart) -> bool {
        PrivateServer::restart(self, how);
        true
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

impl Stage for PgStore {
    async fn try_attach(url: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let pool = PgPoolOptions::new().max_connections(5).test_before_acquire(false);
        Ok(Self::new(pool.connect(url).await?).migrate().await?)
    }

    async fn cut(&self) -> bool {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        // It may hit the pool of whoever asks, too.
        let _ = sqlx::query(cut).execute(self.pool()).await;
        true
    }

    async fn execute(&self, statement: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(statement).execute(self.pool()).await.map(|_| ())
    }

    async fn number(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(self.pool()).await.expect(query)
    }

    async fn pay(connection: &mut Self::Connection, order: &str) -> Result<(), sqlx::Error> {
        sqlx::query(PAY).bind(order).execute(connection).await.map(|_| ())
    }

    async fn refuse(&self, kind: &str) {
        let refuse = format!("ALTER TABLE idem_ledger ADD CHECK (kind <> '{kind}')");
        let refuse = sqlx::query(sqlx::AssertSqlSafe(refuse));
        refuse.execute(self.pool()).await.expect("altered");
    }

    async fn pass(&self, time: Duration) {
        let seconds = f64::from(u32::try_from(time.as_secs()).expect("a short time"));
        for column in ["created_at", "completed_at", "expires_at"] {
            let shift = format!("UPDATE idem_record SET {column} = {column} - $1 * interval '1 second'");
            let shift = sqlx::query(sqlx::AssertSqlSafe(shift)).bind(seconds);
            shift.execute(self.pool()).await.expect("shifted");
        }
    }
}

impl Stage for SqliteStore {
    async fn try_attach(url: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let options: SqliteConnectOptions = url.parse()?;
        let options = options
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(10));
        let pool = SqlitePoolOptions::new().max_connections(5).test_before_acquire(false);
        Ok(Self::new(pool.connect_with(options).await?).migrate().await?)
    }

    async fn cut(&self) -> bool {
        false
    }

    async fn execute(&self, statement: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(statement).execute(self.pool()).await.map(|_| ())
    }

    async fn number(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(self.pool()).await.expect(query)
    }

    async fn pay(connection: &mut Self::Connection, order: &str) -> Result<(), sqlx::Error> {
        let order = order.to_owned();
        sqlx::query(PAY).bind(order).execute(connection).await.map(|_| ())
    }

    async fn refuse(&self, kind: &str) {
        let refuse = format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON idem_ledger WHEN NEW.kind = '{kind}' BEGIN
                SELECT RAISE(ABORT, 'refused'); END"
        );
        let refuse = sqlx::query(sqlx::AssertSqlSafe(refuse));
        refuse.execute(self.pool()).await.expect("created");
    }

    async fn pass(&self, time: Duration) {
        let milliseconds = i64::try_from(time.as_millis()).expect("a short time");
        for column in ["created_at", "completed_at", "expires_at"] {
            let shift = format!("UPDATE idem_record SET {column} = {column} - $1");
            let shift = sqlx::query(sqlx::AssertSqlSafe(shift)).bind(milliseconds);
            shift.execute(self.pool()).await.expect("shifted");
        }
    }
}

pub const CREATE_PAYOUTS: &str = "CREATE TABLE IF NOT EXISTS payouts (order_id text PRIMARY KEY)";
const PAY: &str = "INSERT INTO payouts (order_id) VALUES ($1)";
pub const PAYOUTS: &str = "SELECT count(*) FROM payouts";
pub const RECORDS: &str = "SELECT count(*) FROM idem_record";
pub const COMPLETED: &str = "SELECT count(*) FROM idem_record WHERE status = 1";
pub const HELD: &str = "SELECT count(*) FROM idem_record WHERE status = 3";
pub const INTENDED: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'intended'";
pub const EXECUTED: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'executed'";
pub const UNKNOWN: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'unknown'";
