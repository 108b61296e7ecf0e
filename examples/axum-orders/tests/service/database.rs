//! Databases of a test's own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// An empty database, which is gone when this is dropped.
pub struct Database {
    pub url: String,
    kind: Kind,
}

enum Kind {
    Sqlite { folder: PathBuf },
    Postgres { server: String, name: String },
}

impl Database {
    pub fn both() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    fn sqlite() -> Self {
        let folder = std::env::temp_dir().join(unique());
        std::fs::create_dir(&folder).expect("the temp directory can be written");
        Self {
            url: format!("sqlite://{}?mode=rwc", folder.join("orders.sqlite").display()),
            kind: Kind::Sqlite { folder },
        }
    }

    fn postgres() -> Self {
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
}

impl Drop for Database {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Sqlite { folder } => {
                let _ = std::fs::remove_dir_all(folder);
            }
            Kind::Postgres { server, name } => {
                execute(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
            }
        }
    }
}

fn execute(url: &str, statement: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut connection = PgConnection::connect(url)
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
    format!("idem_test_orders_{}_{number}", std::process::id())
}
