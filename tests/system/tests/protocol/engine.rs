//! One test, both databases: [`on_both_databases!`] runs its tests with the names of [`postgres`] and of [`sqlite`].

/// Writes each test twice. Its body finds `Store`, `Database`, `Connection`, `World` and the functions beside them.
macro_rules! on_both_databases {
    ($(async fn $name:ident() $body:block)*) => {
        mod on_postgres {
            use super::*;
            use crate::engine::postgres::*;
            $(#[tokio::test] async fn $name() $body)*
        }

        mod on_sqlite {
            use super::*;
            use crate::engine::sqlite::*;
            $(#[tokio::test] async fn $name() $body)*
        }
    };
}

pub(crate) use on_both_databases;

macro_rules! engine {
    ($name:ident, $database:ident, $store:ident, $file:ident, $begin:literal, $is_postgres:literal, $waits:expr) => {
        pub mod $name {
            use idem::{EffectError, Error, Idem, Settings};
            use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

            use crate::support::{CREATE_REFUNDS, INSERT_REFUND, Receipt, Refund};

            pub type Database = sqlx::$database;
            pub type Store = idem::$store;
            pub type Connection = <Database as sqlx::Database>::Connection;
            pub type Transaction = sqlx::Transaction<'static, Database>;
            pub const IS_POSTGRES: bool = $is_postgres;

            /// A fresh database with the table of the effects, a pool of one connection that the store uses, and another
            /// pool that sees only what is committed.
            pub struct World {
                pub idem: Idem<Store>,
                pub pool: sqlx::Pool<Database>,
                pub outside: sqlx::Pool<Database>,
                pub database: idem_system_tests::$file,
            }

            impl World {
                pub async fn new() -> Self {
                    Self::with(Settings::default()).await
                }

                pub async fn with(settings: Settings) -> Self {
                    let database = idem_system_tests::$name();
                    let outside = database.pool(4).await;
                    if !IS_POSTGRES {
                        outside
                            .execute("PRAGMA journal_mode = WAL")
                            .await
                            .expect("WAL mode");
                    }
                    outside
                        .execute(CREATE_REFUNDS)
                        .await
                        .expect("the table of the effects");
                    let pool = database.pool(1).await;
                    let store = Store::new(pool.clone()).migrate().await.expect("migrated");
                    let idem = Idem::with_settings(store, settings).expect("settings agree");
                    Self {
                        idem,
                        pool,
                        outside,
                        database,
                    }
                }

                /// Another process, as far as the store can tell: a registry and a pool of its own.
                pub async fn apart(&self) -> Idem<Store> {
                    self.apart_with(Settings::default()).await
                }

                pub async fn apart_with(&self, settings: Settings) -> Idem<Store> {
                    let store = Store::new(self.database.pool(2).await)
                        .open()
                        .await
                        .expect("opened");
                    Idem::with_settings(store, settings).expect("settings agree")
                }

                /// As [`apart`](Self::apart), and its claims wait in the database for one that is running.
                pub async fn unaware(&self) -> Idem<Store> {
                    let waits: fn(Store) -> Store = $waits;
                    Idem::new(waits(Store::new(self.database.pool(2).await)))
                }

                /// The effects that are committed, in order.
                pub async fn effects(&self) -> Vec<String> {
                    sqlx::query_scalar("SELECT case_id FROM refunds ORDER BY case_id")
                        .fetch_all(&self.outside)
                        .await
                        .expect("the effects")
                }

                /// The kinds of the ledger's entries and the reasons of refusals, in order.
                pub async fn ledger(&self) -> Vec<String> {
                    sqlx::query_scalar("SELECT kind || coalesce(' ' || reason, '') FROM idem_ledger ORDER BY seq")
                        .fetch_all(&self.outside)
                        .await
                        .expect("the ledger")
                }

                pub async fn count(&self, table: &str) -> i64 {
                    sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
                        .fetch_one(&self.outside)
                        .await
                        .expect("a count")
                }

                /// Nothing of a call is there.
                pub async fn assert_untouched(&self) {
                    for table in ["refunds", "idem_record", "idem_ledger", "idem_ledger_detail"] {
                        assert_eq!(self.count(table).await, 0, "{table}");
                    }
                }

                /// The only pooled connection is outside of any transaction, for the driver and for the database.
                pub async fn assert_connection_is_clean(&self) {
                    let mut connection = self.pool.acquire().await.expect("the connection");
                    assert!(
                        !connection.is_in_transaction(),
                        "the driver counts an open transaction"
                    );
                    put(&mut connection, "borrowed")
                        .await
                        .expect("a statement of the next borrower");
                    let seen = sqlx::query("DELETE FROM refunds WHERE case_id = 'borrowed'")
                        .execute(&self.outside)
                        .await;
                    assert_eq!(
                        seen.expect("a deletion").rows_affected(),
                        1,
                        "the next borrower's statement is not committed"
                    );
                    let transaction = connection
                        .begin()
                        .await
                        .expect("a transaction of the next borrower");
                    transaction.commit().await.expect("a commit");
                    assert!(!connection.is_in_transaction(), "the depth is off");
                }

                /// After the claim of `refund` was committed alone, nobody knows what was committed with it; after it was rolled
                /// back, the effect runs.
                pub async fn assert_next_call_tells_the_truth(&self, refund: &Refund) {
                    let case = &refund.case_id;
                    let executed =
                        "SELECT count(*) FROM idem_ledger WHERE kind IN ('executed', 'declined') AND idem_key = $1";
                    let key = self.idem.call(refund).key().expect("a key");
                    let entries: i64 = sqlx::query_scalar(executed)
                        .bind(key.as_str().to_owned())
                        .fetch_one(&self.outside)
                        .await
                        .expect("a count");
                    assert_eq!(entries, 0, "{case}: nothing is on record as done");
                    let done = self
                        .idem
                        .transaction(refund, async |tx: &mut Connection| pay(tx, "ran").await)
                        .await;
                    assert!(!done.expect("it runs").is_replayed(), "{case}");
                    self.assert_connection_is_clean().await;
                }
            }

            /// An empty database.
            pub fn fresh() -> idem_system_tests::$file {
                idem_system_tests::$name()
            }

            /// The tables, in order.
            pub async fn tables(pool: &sqlx::Pool<Database>) -> Vec<String> {
                let sql = if IS_POSTGRES {
                    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
                } else {
                    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1"
                };
                sqlx::query_scalar(sql).fetch_all(pool).await.expect("the tables")
            }

            pub async fn run(pool: &sqlx::Pool<Database>, sql: &'static str) {
                sqlx::raw_sql(sql).execute(pool).await.expect("a statement of the test");
            }

            pub async fn run_fails(pool: &sqlx::Pool<Database>, sql: &'static str, says: &str) {
                let error = sqlx::raw_sql(sql).execute(pool).await.expect_err("refused");
                assert!(error.to_string().contains(says), "{sql}: {error}");
            }

            /// Damages a row as a broken disk, a newer program or a hand could.
            pub async fn damaged(pool: &sqlx::Pool<Database>, sql: &str) {
                let mut connection = pool.acquire().await.expect("a connection");
                if !IS_POSTGRES {
                    send(&mut connection, "PRAGMA ignore_check_constraints = ON").await.expect("set");
                }
                let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut *connection).await;
                assert_eq!(done.expect("damaged").rows_affected(), 1, "{sql}");
                connection.close().await.expect("closed");
            }

            pub async fn without_checks(pool: &sqlx::Pool<Database>) {
                if IS_POSTGRES {
                    let checks = "SELECT conname FROM pg_constraint WHERE conrelid::regclass::text = 'idem_record' AND contype = 'c'";
                    for name in sqlx::query_scalar::<_, String>(checks).fetch_all(pool).await.expect("the checks") {
                        let drop = AssertSqlSafe(format!("ALTER TABLE idem_record DROP CONSTRAINT {name}"));
                        sqlx::raw_sql(drop).execute(pool).await.expect("dropped");
                    }
                }
            }

            pub async fn without_triggers(pool: &sqlx::Pool<Database>) {
                let drop = if IS_POSTGRES {
                    "DROP TRIGGER idem_ledger_append_only ON idem_ledger"
                } else {
                    "DROP TRIGGER idem_ledger_no_update"
                };
                run(pool, drop).await;
            }

            /// Opens a transaction that may write.
            pub async fn begin(pool: &sqlx::Pool<Database>) -> Transaction {
                pool.begin_with($begin).await.expect("a transaction")
            }

            /// A statement beside the effects.
            pub async fn put(connection: &mut Connection, case_id: &str) -> sqlx::Result<()> {
                sqlx::query(INSERT_REFUND)
                    .bind(case_id.to_owned())
                    .bind(1_i64)
                    .execute(connection)
                    .await?;
                Ok(())
            }

            /// The effect.
            pub async fn pay(connection: &mut Connection, case_id: &str) -> Result<Receipt, EffectError> {
                put(connection, case_id).await?;
                Ok(receipt(case_id))
            }

            pub fn receipt(case_id: &str) -> Receipt {
                Receipt {
                    case_id: case_id.to_owned(),
                    nonce: 7,
                }
            }

            /// An effect that must not run.
            pub async fn never(_: &mut Connection) -> Result<Receipt, EffectError> {
                panic!("the effect ran again")
            }

            /// Sends SQL as an effect should not.
            pub async fn send(connection: &mut Connection, sql: &'static str) -> Result<(), sqlx::Error> {
                sqlx::raw_sql(sql).execute(connection).await?;
                Ok(())
            }

            /// The text of an error and of its causes.
            pub fn text(error: &Error) -> String {
                let mut text = error.to_string();
                let mut cause = std::error::Error::source(error);
                while let Some(error) = cause {
                    text = format!("{text}: {error}");
                    cause = error.source();
                }
                text
            }
        }
    };
}

engine!(postgres, Postgres, PgStore, Postgres, "BEGIN", true, |store| store
    .advisory_locks(false));
engine!(sqlite, Sqlite, SqliteStore, Sqlite, "BEGIN IMMEDIATE", false, |store| {
    store
});
