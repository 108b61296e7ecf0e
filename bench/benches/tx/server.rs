//! A database of its own on the server that `IDEM_BENCH_POSTGRES_URL` names, and the server's own counts.

use idem::PgStore;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool, Row};

use crate::effect::TABLES;

pub struct Server {
    options: PgConnectOptions,
    name: String,
}

impl Server {
    /// Creates a database, or says what is missing.
    pub async fn prepare(what: &str) -> Self {
        let url = ["IDEM_BENCH_POSTGRES_URL", "IDEM_TEST_POSTGRES_URL"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok())
            .expect("IDEM_BENCH_POSTGRES_URL names no server; give one over its Unix socket, such as postgres://postgres@%2Fvar%2Frun%2Fpostgresql/postgres");
        let options: PgConnectOptions = url.parse().expect("a URL of PostgreSQL");
        let server = Self {
            options,
            name: format!("idem_bench_{}_{what}", std::process::id()),
        };
        let mut admin = server.options.connect().await.expect("the server can be reached");
        let create = format!("CREATE DATABASE {} TEMPLATE template0", server.name);
        admin
            .execute(AssertSqlSafe(create))
            .await
            .expect("a database may be created");
        let pool = server.pool(1).await;
        sqlx::raw_sql(TABLES).execute(&pool).await.expect("tables");
        PgStore::new(pool).migrate().await.expect("migrated");
        server
    }

    pub async fn pool(&self, connections: u32) -> PgPool {
        let pool = PgPoolOptions::new()
            .min_connections(connections)
            .max_connections(connections)
            .test_before_acquire(false);
        let options = self.options.clone().database(&self.name);
        pool.connect_with(options).await.expect("a pool")
    }

    pub async fn connect(&self) -> PgConnection {
        let options = self.options.clone().database(&self.name);
        options.connect().await.expect("a connection")
    }

    pub async fn remove(self) {
        let mut admin = self.options.connect().await.expect("the server can be reached");
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        admin.execute(AssertSqlSafe(drop)).await.expect("dropped");
        admin.close().await.expect("closed");
    }

    /// Statistics are those of the whole server: it should have nothing else to do.
    pub async fn counts(&self) -> Counts {
        let mut connection = self.connect().await;
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&mut connection)
            .await
            .expect("the version");
        let fsyncs = if version < 180_000 {
            "SELECT wal_sync FROM pg_stat_wal"
        } else {
            "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'"
        };
        let row = sqlx::query(AssertSqlSafe(format!(
            "SELECT ({fsyncs}) AS fsyncs, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS ids,
                (pg_current_wal_insert_lsn() - '0/0')::bigint AS bytes"
        )))
        .fetch_one(&mut connection)
        .await
        .expect("PostgreSQL's statistics");
        let counts = Counts {
            fsyncs: row.get("fsyncs"),
            ids: row.get("ids"),
            bytes: row.get("bytes"),
        };
        connection.close().await.expect("closed");
        counts
    }
}

pub struct Counts {
    pub fsyncs: i64,
    pub ids: i64,
    pub bytes: i64,
}

impl Counts {
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            fsyncs: self.fsyncs - earlier.fsyncs,
            ids: self.ids - earlier.ids,
            bytes: self.bytes - earlier.bytes,
        }
    }
}
