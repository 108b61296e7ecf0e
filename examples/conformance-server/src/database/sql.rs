//! Orders in PostgreSQL and in SQLite, which understand the same statements but for the one that creates the table.

use idem::tower::Failure;
use idem::{PgStore, SqliteStore};
use sqlx::{PgConnection, SqliteConnection};

use super::{Change, Database, Order};
use crate::Fatal;

#[derive(Clone)]
pub struct Postgres {
    store: PgStore,
}

impl Postgres {
    pub async fn open(url: &str) -> Result<Self, Fatal> {
        let store = PgStore::connect(url).await?;
        // `IF NOT EXISTS` does not keep two servers that start at once from creating the same table: one after the other.
        let mut lock = store.pool().begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock(7300601)")
            .execute(&mut *lock)
            .await?;
        let store = store.with_test_clock().await?;
        sqlx::raw_sql(
            "CREATE TABLE IF NOT EXISTS orders (
                 id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, state text NOT NULL);
             CREATE TABLE IF NOT EXISTS clock (one bigint PRIMARY KEY, ahead bigint NOT NULL)",
        )
        .execute(&mut *lock)
        .await?;
        lock.commit().await?;
        Ok(Self { store })
    }
}

#[derive(Clone)]
pub struct Sqlite {
    store: SqliteStore,
}

impl Sqlite {
    pub async fn open(url: &str) -> Result<Self, Fatal> {
        let store = SqliteStore::connect(url).await?.with_test_clock().await?;
        sqlx::raw_sql(
            "CREATE TABLE IF NOT EXISTS orders (
                 id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, state TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS clock (one INTEGER PRIMARY KEY, ahead INTEGER NOT NULL)",
        )
        .execute(store.pool())
        .await?;
        Ok(Self { store })
    }
}

const INSERT: &str = "INSERT INTO orders (body, state) VALUES ($1, 'open') RETURNING id, body, state";
const REPLACE: &str = "UPDATE orders SET body = $1 WHERE id = $2 RETURNING id, body, state";
const CANCEL: &str = "UPDATE orders SET state = 'cancelled' WHERE id = $1 RETURNING id, body, state";
const DELETE: &str = "DELETE FROM orders WHERE id = $1 RETURNING id, body, state";
const ADD_TO_CLOCK: &str = "INSERT INTO clock VALUES (1, $1)
    ON CONFLICT (one) DO UPDATE SET ahead = clock.ahead + excluded.ahead RETURNING ahead";

type Row = (i64, String, String);

fn order((id, body, state): Row) -> Order {
    Order { id, body, state }
}

macro_rules! database {
    ($database:ty, $store:ty, $connection:ty) => {
        impl Database for $database {
            type Store = $store;

            fn store(&self) -> &$store {
                &self.store
            }

            async fn change(&self, connection: &mut $connection, change: Change) -> Result<Option<Order>, Failure> {
                let query = match change {
                    Change::Insert(body) => sqlx::query_as::<_, Row>(INSERT).bind(body),
                    Change::Replace(id, body) => sqlx::query_as(REPLACE).bind(body).bind(id),
                    Change::Cancel(id) => sqlx::query_as(CANCEL).bind(id),
                    Change::Delete(id) => sqlx::query_as(DELETE).bind(id),
                };
                Ok(query.fetch_optional(connection).await?.map(order))
            }

            async fn change_alone(&self, change: Change) -> Result<Option<Order>, Failure> {
                let mut connection = self.store.pool().acquire().await?;
                self.change(&mut connection, change).await
            }

            async fn order(&self, id: i64) -> Result<Option<Order>, Failure> {
                let row = sqlx::query_as::<_, Row>("SELECT id, body, state FROM orders WHERE id = $1").bind(id);
                Ok(row.fetch_optional(self.store.pool()).await?.map(order))
            }

            async fn count(&self) -> Result<i64, Failure> {
                let count = sqlx::query_scalar("SELECT count(*) FROM orders");
                Ok(count.fetch_one(self.store.pool()).await?)
            }

            async fn add_to_clock(&self, millis: i64) -> Result<i64, Failure> {
                let ahead = sqlx::query_scalar(ADD_TO_CLOCK).bind(millis);
                Ok(ahead.fetch_one(self.store.pool()).await?)
            }
        }
    };
}

database!(Postgres, PgStore, PgConnection);
database!(Sqlite, SqliteStore, SqliteConnection);
