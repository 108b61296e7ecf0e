//! A service over a real socket, on a store of the test.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::{Method, StatusCode};
use idem::testing::{Clock, TestClock};
use idem::tower::{Builder, HasScope, IdempotencyLayer, Leased, Transactional};
use idem::{Idem, MemoryConnection, MemoryStore, PgStore, Recovery, SqliteStore, Tenant, TransactionalStore};
use idem_system_tests::{Postgres, Sqlite, postgres, sqlite};
use tokio::net::TcpListener;

use crate::client::Ask;

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub const RERUN: Recovery = Recovery::Rerun { remembered_for: DAY };

/// Whom authentication has found.
#[derive(Clone)]
pub struct Principal(pub String);

/// A store of one test.
pub trait Stage: Sized + Send + Sync + 'static {
    type Store: TransactionalStore + TestClock + Clone;

    async fn fresh() -> Self;
    /// Opens the store of another stage's address, as another process does.
    async fn attach(url: &str) -> Self;
    fn url(&self) -> String;
    fn store(&self) -> Self::Store;
    /// The effect of a handler.
    fn insert(
        connection: &mut <Self::Store as idem::TransactionalStore>::Connection,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    async fn rows(&self) -> i64;
    /// How many entries of a kind the ledger has.
    async fn entries(&self, kind: &str) -> i64;
    async fn pass(&self, time: Duration) {
        let ahead = i64::try_from(time.as_millis()).unwrap();
        self.store().set_clock(Clock::Ahead(ahead)).await.unwrap();
    }
}

pub struct Memory {
    store: MemoryStore,
}

impl Stage for Memory {
    type Store = MemoryStore;

    async fn fresh() -> Self {
        Self {
            store: MemoryStore::new(),
        }
    }

    async fn attach(_: &str) -> Self {
        panic!("a store in memory has no address")
    }

    fn url(&self) -> String {
        String::new()
    }

    fn store(&self) -> MemoryStore {
        self.store.clone()
    }

    async fn insert(_: &mut MemoryConnection) -> Result<(), sqlx::Error> {
        // What it commits is counted by its ledger.
        Ok(())
    }

    async fn rows(&self) -> i64 {
        i64::try_from(self.store.executed()).unwrap()
    }

    async fn entries(&self, kind: &str) -> i64 {
        let entries = self.store.entries();
        i64::try_from(entries.iter().filter(|entry| entry.kind.as_str() == kind).count()).unwrap()
    }
}

pub struct SqliteStage {
    database: Option<Sqlite>,
    url: String,
    store: SqliteStore,
}

impl Stage for SqliteStage {
    type Store = SqliteStore;

    async fn fresh() -> Self {
        let database = sqlite();
        let url = database.url();
        let stage = Self::attach(&url).await;
        Self {
            database: Some(database),
            ..stage
        }
    }

    async fn attach(url: &str) -> Self {
        let store = SqliteStore::connect(url)
            .await
            .unwrap()
            .with_test_clock()
            .await
            .unwrap();
        sqlx::query("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY)")
            .execute(store.pool())
            .await
            .unwrap();
        Self {
            database: None,
            url: url.to_owned(),
            store,
        }
    }

    fn url(&self) -> String {
        let _ = &self.database;
        self.url.clone()
    }

    fn store(&self) -> SqliteStore {
        self.store.clone()
    }

    async fn insert(connection: &mut sqlx::SqliteConnection) -> Result<(), sqlx::Error> {
        sqlx::query("INSERT INTO rows DEFAULT VALUES")
            .execute(connection)
            .await
            .map(drop)
    }

    async fn rows(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM rows")
            .fetch_one(self.store.pool())
            .await
            .unwrap()
    }

    async fn entries(&self, kind: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM idem_ledger WHERE kind = $1")
            .bind(kind)
            .fetch_one(self.store.pool())
            .await
            .unwrap()
    }
}

pub struct PostgresStage {
    database: Option<Postgres>,
    url: String,
    store: PgStore,
}

impl PostgresStage {
    pub fn database(&self) -> &Postgres {
        self.database.as_ref().expect("a stage that was made fresh")
    }
}

impl Stage for PostgresStage {
    type Store = PgStore;

    async fn fresh() -> Self {
        let database = tokio::task::spawn_blocking(postgres).await.unwrap();
        let url = database.url().to_owned();
        let stage = Self::attach(&url).await;
        Self {
            database: Some(database),
            ..stage
        }
    }

    async fn attach(url: &str) -> Self {
        let store = PgStore::connect(url).await.unwrap().with_test_clock().await.unwrap();
        sqlx::query("CREATE TABLE IF NOT EXISTS rows (id bigserial PRIMARY KEY)")
            .execute(store.pool())
            .await
            .unwrap();
        Self {
            database: None,
            url: url.to_owned(),
            store,
        }
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    fn store(&self) -> PgStore {
        self.store.clone()
    }

    async fn insert(connection: &mut sqlx::PgConnection) -> Result<(), sqlx::Error> {
        sqlx::query("INSERT INTO rows DEFAULT VALUES")
            .execute(connection)
            .await
            .map(drop)
    }

    async fn rows(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM rows")
            .fetch_one(self.store.pool())
            .await
            .unwrap()
    }

    async fn entries(&self, kind: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM idem_ledger WHERE kind = $1")
            .bind(kind)
            .fetch_one(self.store.pool())
            .await
            .unwrap()
    }
}

/// The layer's settings of most tests: the principal is whom authentication has found.
pub fn leased<S: idem::Store>(idem: impl Into<Idem<S>>, recovery: Recovery) -> Builder<S, Leased, HasScope> {
    IdempotencyLayer::leased(idem, recovery).scope(principal)
}

pub fn transactional<S: TransactionalStore>(idem: impl Into<Idem<S>>) -> Builder<S, Transactional, HasScope> {
    IdempotencyLayer::transactional(idem).scope(principal)
}

pub fn principal(parts: &http::request::Parts) -> Option<Tenant> {
    Tenant::of_principal(&parts.extensions.get::<Principal>()?.0)
}

/// A running service. It ends with this value.
pub struct Service {
    pub address: SocketAddr,
    pub runs: Runs,
    serving: tokio::task::JoinHandle<()>,
}

/// How often handlers ran.
#[derive(Clone, Default)]
pub struct Runs(Arc<AtomicU32>);

impl Runs {
    /// Counts a run, and returns its number from 1.
    pub fn count(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Service {
    /// Serves every path by `handler`, behind the layer, behind authentication. The handler is given the number of its run.
    pub async fn start<S, M, H, F, R>(layer: &IdempotencyLayer<S, M>, handler: H) -> Self
    where
        S: idem::Store,
        M: idem::tower::Mode<S>,
        H: Fn(u32, Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoResponse + 'static,
    {
        let runs = Runs::default();
        let counted = {
            let runs = runs.clone();
            move |request: Request| {
                let run = runs.count();
                let answer = handler(run, request);
                async move { answer.await.into_response() }
            }
        };
        let router = Router::new()
            .route("/", any(counted.clone()))
            .route("/{*rest}", any(counted))
            .route_layer(layer.clone())
            .layer(from_fn(authenticate));
        Self::serve(router, runs).await
    }

    pub async fn serve(router: Router, runs: Runs) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { address, runs, serving }
    }

    pub fn post(&self, path: &str) -> Ask {
        self.ask(Method::POST, path)
    }

    pub fn ask(&self, method: Method, path: &str) -> Ask {
        Ask::new(self.address, method, path)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Whoever names itself in `X-Principal` is that; whoever does not is nobody.
pub async fn authenticate(mut request: Request, next: Next) -> Response {
    let principal = request
        .headers()
        .get("x-principal")
        .and_then(|value| value.to_str().ok());
    let Some(principal) = principal.map(|text| Principal(text.to_owned())) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    request.extensions_mut().insert(principal);
    next.run(request).await
}

/// Answers 201 with the number of the run.
pub async fn created(run: u32, _: Request) -> (StatusCode, String) {
    (StatusCode::CREATED, format!("run {run}"))
}

/// A body that is made as it is sent.
pub fn streaming(chunks: Vec<Result<&'static str, std::io::Error>>, pause: Duration) -> Body {
    let (mut sender, body) = http_body_util::channel::Channel::<bytes::Bytes, std::io::Error>::new(1);
    tokio::spawn(async move {
        for chunk in chunks {
            tokio::time::sleep(pause).await;
            match chunk {
                Ok(chunk) => {
                    if sender.send_data(chunk.into()).await.is_err() {
                        return;
                    }
                }
                Err(error) => return sender.abort(error),
            }
        }
    });
    Body::new(body)
}

/// Runs a case on SQLite and on PostgreSQL.
macro_rules! for_both_databases {
    (|$stage:ident: $type:ident| $case:block) => {{
        {
            type $type = crate::stage::SqliteStage;
            let $stage = <$type as crate::stage::Stage>::fresh().await;
            $case
        }
        {
            type $type = crate::stage::PostgresStage;
            let $stage = <$type as crate::stage::Stage>::fresh().await;
            $case
        }
    }};
    (|$stage:ident| $case:block) => {
        crate::stage::for_both_databases!(|$stage: _Stage| $case)
    };
}

pub(crate) use for_both_databases;
