//! Databases of a test's own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};
use tokio::runtime::{Builder, Runtime};

/// An empty database, which is gone when this is dropped.
pub struct Database {
    pub url: String,
    kind: Kind,
}

enum Kind {
    Memory,
    Sqlite { folder: PathBuf },
    Postgres { server: String, name: String },
}

impl Database {
    /// In the memory of each process that is given it.
    pub fn memory() -> Self {
        Self {
            url: "memory".into(),
            kind: Kind::Memory,
        }
    }

    pub fn sqlite() -> Self {
        let folder = std::env::temp_dir().join(unique());
        std::fs::create_dir(&folder).expect("the temp directory can be written");
        Self {
            url: format!("sqlite://{}?mode=rwc", folder.join("orders.sqlite").display()),
            kind: Kind::Sqlite { folder },
        }
    }

    pub fn postgres() -> Self {
        let server = std::env::var("IDEM_TEST_POSTGRES_URL")
            .expect("IDEM_TEST_POSTGRES_URL names a PostgreSQL server; `scripts/test` finds or starts one");
        let name = unique();
        execute(&server, &format!("CREATE DATABASE {name}"));
        let (base, settings) = server
            .split_once('?')
            .map_or((&*server, None), |(base, settings)| (base, Some(settings)));
        let host = base.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let url = settings.map_or(format!("{host}/{name}"), |settings| format!("{host}/{name}?{settings}"));
        Self {
            url,
            kind: Kind::Postgres { server, name },
        }
    }

    /// Keeps the servers on this database from their records until the answer is dropped.
    pub fn lock(&self) -> Locked {
        let statement = match &self.kind {
            Kind::Memory => panic!("memory cannot be locked from outside"),
            Kind::Sqlite { .. } => "BEGIN EXCLUSIVE",
            Kind::Postgres { .. } => "BEGIN; LOCK TABLE idem_record IN ACCESS EXCLUSIVE MODE",
        };
        let runtime = runtime();
        let connection = runtime.block_on(async {
            let mut connection = AnyConnection::connect(&self.url).await.expect("a connection");
            sqlx::raw_sql(statement)
                .execute(&mut connection)
                .await
                .expect("the lock");
            connection
        });
        Locked {
            runtime,
            connection: Some(connection),
        }
    }
}

/// The lock, and the connection that holds it.
pub struct Locked {
    runtime: Runtime,
    connection: Option<AnyConnection>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = self.runtime.block_on(connection.close());
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Memory => {}
            Kind::Sqlite { folder } => {
                let _ = std::fs::remove_dir_all(folder);
            }
            Kind::Postgres { server, name } => {
                execute(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
            }
        }
    }
}

fn runtime() -> Runtime {
    sqlx::any::install_default_drivers();
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn execute(url: &str, statement: &str) {
    runtime().block_on(async {
        let mut connection = AnyConnection::connect(url)
            .await
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        let done = connection.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
        connection.close().await.expect("the connection closes");
    });
}

/// A name that no other test has.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("idem_test_http_{}_{number}", std::process::id())
}
