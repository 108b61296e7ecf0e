//! The tables' versions: embedded migrations, and who may use their result.

use idem_core::{Error, ErrorKind};

use crate::names::Names;

/// One step of the schema.
struct Migration {
    version: i64,
    /// The oldest code, by the newest version it knows, that may still use the tables after this step.
    min_reader: i64,
    sql: &'static str,
}

/// The newest version that this code knows.
const KNOWN: i64 = 1;

/// What the database says of itself.
struct Found {
    version: i64,
    min_reader: i64,
}

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS {schema} (version bigint NOT NULL PRIMARY KEY, min_reader bigint NOT NULL)";
const READ: &str = "SELECT max(version), max(min_reader) FROM {schema}";
const WRITE: &str = "INSERT INTO {schema} (version, min_reader) VALUES ($1, $2)";

/// Refuses tables that this code may not use.
fn check(found: Option<&Found>, names: &Names) -> Result<(), Error> {
    let table = names.schema();
    let message = match found {
        None => format!(
            "idem's tables are missing (no row in `{table}`); run `migrate()` on the store once, with a role that may create tables"
        ),
        Some(found) if found.min_reader > KNOWN => format!(
            "idem's tables need code that knows schema version {} or newer (`{table}.min_reader`), and this code knows {KNOWN}; upgrade idem-sqlx in this program",
            found.min_reader
        ),
        Some(found) if found.version < KNOWN => format!(
            "idem's tables have schema version {}, and this code needs {KNOWN}; run `migrate()` on the store once, with a role that may change tables",
            found.version
        ),
        Some(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::Schema, message))
}

macro_rules! runner {
    ($database:ty, $store_error:path) => {
        async fn read(
            connection: &mut <$database as sqlx::Database>::Connection,
            names: &Names,
        ) -> Result<Option<Found>, sqlx::Error> {
            let row: (Option<i64>, Option<i64>) = sqlx::query_as(names.statement(READ))
                .fetch_one(connection)
                .await?;
            Ok(row
                .0
                .zip(row.1)
                .map(|(version, min_reader)| Found { version, min_reader }))
        }

        /// Applies what is missing. The transaction is open, and no other process is in here.
        async fn apply(connection: &mut <$database as sqlx::Database>::Connection, names: &Names) -> Result<(), Error> {
            let failed = |source| $store_error("migrate idem's tables", source);
            sqlx::raw_sql(names.statement(CREATE))
                .execute(&mut *connection)
                .await
                .map_err(failed)?;
            let found = read(connection, names).await.map_err(failed)?;
            if found.as_ref().is_some_and(|found| found.min_reader > KNOWN) {
                return check(found.as_ref(), names);
            }
            let version = found.map_or(0, |found| found.version);
            for migration in MIGRATIONS.iter().filter(|migration| migration.version > version) {
                sqlx::raw_sql(names.statement(migration.sql))
                    .execute(&mut *connection)
                    .await
                    .map_err(failed)?;
                sqlx::query(names.statement(WRITE))
                    .bind(migration.version)
                    .bind(migration.min_reader)
                    .execute(&mut *connection)
                    .await
                    .map_err(failed)?;
            }
            Ok(())
        }
    };
}

#[cfg(feature = "postgres")]
pub(crate) mod postgres {
    use sqlx::{PgPool, Postgres};

    use super::{CREATE, Error, Found, KNOWN, Migration, Names, READ, WRITE, check};
    use crate::postgres::{connect_error, store_error};

    const MIGRATIONS: &[Migration] = &[Migration {
        version: 1,
        min_reader: 1,
        sql: include_str!("../migrations/postgres/0001_foundation.sql"),
    }];

    runner!(Postgres, store_error);

    pub(crate) async fn migrate(pool: &PgPool, names: &Names) -> Result<(), Error> {
        if self::check_tables(pool, names).await.is_ok() {
            return Ok(());
        }
        let failed = |source| store_error("migrate idem's tables", source);
        // Whoever waited for the lock has to see the tables that another made meanwhile, whatever level
        // is the default.
        let mut transaction = pool
            .begin_with("BEGIN ISOLATION LEVEL READ COMMITTED")
            .await
            .map_err(failed)?;
        // One process at a time, for as long as the transaction: it works through PgBouncer too.
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
            .bind(format!("idem schema {}", names.schema()))
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        apply(&mut transaction, names).await?;
        transaction.commit().await.map_err(failed)
    }

    pub(crate) async fn check_tables(pool: &PgPool, names: &Names) -> Result<(), Error> {
        let mut connection = pool
            .acquire()
            .await
            .map_err(|source| connect_error("connect to PostgreSQL", source))?;
        match read(&mut connection, names).await {
            Ok(found) => check(found.as_ref(), names),
            // undefined_table
            Err(source) if super::super::postgres::code_is(&source, "42P01") => check(None, names),
            Err(source) => Err(store_error("read the version of idem's tables", source)),
        }
    }
}

#[cfg(feature = "sqlite")]
pub(crate) mod sqlite {
    use sqlx::{Sqlite, SqlitePool};

    use super::{CREATE, Error, Found, KNOWN, Migration, Names, READ, WRITE, check};
    use crate::sqlite::store_error;

    const MIGRATIONS: &[Migration] = &[Migration {
        version: 1,
        min_reader: 1,
        sql: include_str!("../migrations/sqlite/0001_foundation.sql"),
    }];

    runner!(Sqlite, store_error);

    pub(crate) async fn migrate(pool: &SqlitePool, names: &Names) -> Result<(), Error> {
        let failed = |source| store_error("migrate idem's tables", source);
        // One process at a time: BEGIN IMMEDIATE takes the file's only write lock.
        let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        apply(&mut transaction, names).await?;
        transaction.commit().await.map_err(failed)
    }

    pub(crate) async fn check_tables(pool: &SqlitePool, names: &Names) -> Result<(), Error> {
        let mut connection = pool
            .acquire()
            .await
            .map_err(|source| store_error("open the database", source))?;
        match read(&mut connection, names).await {
            Ok(found) => check(found.as_ref(), names),
            Err(source)
                if source
                    .as_database_error()
                    .is_some_and(|error| error.message().starts_with("no such table")) =>
            {
                check(None, names)
            }
            Err(source) => Err(store_error("read the version of idem's tables", source)),
        }
    }
}
