//! The table of orders, in SQLite and in PostgreSQL.

use std::future::Future;

use idem::{PgStore, SqliteStore, TransactionalStore};
use sqlx::{Error, PgConnection, SqliteConnection};

use crate::account::Account;
use crate::order::{NewOrder, Order};

/// A store of idem whose database has the orders too. A service that knows its database needs no such trait.
pub trait Orders: TransactionalStore + Clone {
    fn create_table(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Inserts an order in an open transaction.
    fn insert(
        connection: &mut Self::Connection,
        account: &Account,
        order: NewOrder,
    ) -> impl Future<Output = Result<Order, Error>> + Send;

    fn find(&self, account: &Account, id: i64) -> impl Future<Output = Result<Option<Order>, Error>> + Send;

    fn all(&self, account: &Account) -> impl Future<Output = Result<Vec<Order>, Error>> + Send;

    fn mark_paid(&self, account: &Account, id: i64, charge: &str) -> impl Future<Output = Result<(), Error>> + Send;
}

type Row = (i64, String, i64, Option<String>);

fn order((id, item, cents, paid_by): Row) -> Order {
    Order {
        id,
        item,
        cents,
        paid_by,
    }
}

macro_rules! orders_in {
    ($store:ty, $connection:ty, id = $id:literal) => {
        impl Orders for $store {
            async fn create_table(&self) -> Result<(), Error> {
                let statement = concat!(
                    "CREATE TABLE IF NOT EXISTS orders (id ",
                    $id,
                    ", account TEXT NOT NULL, item TEXT NOT NULL, cents BIGINT NOT NULL, paid_by TEXT)"
                );
                sqlx::query(statement).execute(self.pool()).await.map(drop)
            }

            async fn insert(connection: &mut $connection, account: &Account, new: NewOrder) -> Result<Order, Error> {
                let statement = "INSERT INTO orders (account, item, cents) VALUES ($1, $2, $3)
                    RETURNING id, item, cents, paid_by";
                let row = sqlx::query_as(statement)
                    .bind(account.0)
                    .bind(new.item)
                    .bind(new.cents);
                row.fetch_one(connection).await.map(order)
            }

            async fn find(&self, account: &Account, id: i64) -> Result<Option<Order>, Error> {
                let statement = "SELECT id, item, cents, paid_by FROM orders WHERE account = $1 AND id = $2";
                let row = sqlx::query_as(statement).bind(account.0).bind(id);
                Ok(row.fetch_optional(self.pool()).await?.map(order))
            }

            async fn all(&self, account: &Account) -> Result<Vec<Order>, Error> {
                let statement = "SELECT id, item, cents, paid_by FROM orders WHERE account = $1 ORDER BY id";
                let rows = sqlx::query_as(statement).bind(account.0).fetch_all(self.pool());
                Ok(rows.await?.into_iter().map(order).collect())
            }

            async fn mark_paid(&self, account: &Account, id: i64, charge: &str) -> Result<(), Error> {
                let statement = "UPDATE orders SET paid_by = $3 WHERE account = $1 AND id = $2";
                let update = sqlx::query(statement).bind(account.0).bind(id).bind(charge);
                update.execute(self.pool()).await.map(drop)
            }
        }
    };
}

orders_in!(SqliteStore, SqliteConnection, id = "INTEGER PRIMARY KEY AUTOINCREMENT");
orders_in!(
    PgStore,
    PgConnection,
    id = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
);
