//! The tables' versions: embedded migrations, and who may use their result.
//!
//! Every statement in here is sent as it is, without a prepared statement, so that a pooler can stand in between.

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

fn write(migration: &Migration) -> String {
    let Migration {
        version, min_reader, ..
    } = migration;
    format!("INSERT INTO {{schema}} (version, min_reader) VALUES ({version}, {min_reader})")
}

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

/// The columns that the statements of this code name, by table.
const COLUMNS: &[(&str, &str)] = &[
    (
        "{record}",
        "tenant idem_key fingerprint fingerprint_version status mode recovery owner_token lease_until attempt generation \
         step_id run_id outcome_kind outcome outcome_type outcome_codec created_at completed_at expires_at open_claim",
    ),
    (
        "{ledger}",
        "seq tenant idem_key generation attempt kind slot action fingerprint fingerprint_version step_id run_id \
         payload_digest outcome_digest effect_references actor reason place place_generation freed_place \
         detail_commitment recorded_at",
    ),
    (
        "{ledger_detail}",
        "seq tenant subject preimage basis model_id model_version prompt_sha256 snapshot_id policy_version approver salt",
    ),
];

/// Statements that name every table and column, and fail with the one that is missing.
fn probe(never: &str) -> String {
    let mut sql = never.to_owned();
    for (table, columns) in COLUMNS {
        let columns: Vec<_> = columns.split(' ').map(|column| format!("{table}.{column}")).collect();
        sql.push_str(&format!("; SELECT {} FROM {table} WHERE 1 = 0", columns.join(", ")));
    }
    sql
}

/// The version is right, and what it promises is not there.
fn incomplete(names: &Names, source: sqlx::Error) -> Error {
    let missing = source
        .as_database_error()
        .map_or_else(|| source.to_string(), |error| error.message().to_owned());
    let message = format!(
        "idem's tables are incomplete although `{}` says otherwise: {missing}; restore it from a backup, or create it as the migrations do (`migrations_sql`)",
        names.schema()
    );
    Error::new(ErrorKind::Schema, message).with_source(source)
}

/// The migrations with their version rows. It fails where the tables are there already.
fn script(migrations: &[Migration], names: &Names) -> String {
    let mut sql = format!("{};\n\n", CREATE.replace("IF NOT EXISTS ", ""));
    for migration in migrations {
        let Migration { version, sql: step, .. } = migration;
        sql.push_str(&format!(
            "-- Version {version}\n\n{}\n\n{};\n\n",
            step.trim_end(),
            write(migration)
        ));
    }
    names.fill(&sql)
}

macro_rules! runner {
    ($database:ty, $store_error:path) => {
        async fn read(
            connection: &mut <$database as sqlx::Database>::Connection,
            names: &Names,
        ) -> Result<Option<Found>, sqlx::Error> {
            let row = sqlx::raw_sql(names.statement(READ)).fetch_one(connection).await?;
            let (version, min_reader): (Option<i64>, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
            Ok(version
                .zip(min_reader)
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
                sqlx::raw_sql(names.statement(&write(migration)))
                    .execute(&mut *connection)
                    .await
                    .map_err(failed)?;
            }
            self::probe_tables(connection, names).await
        }

        async fn probe_tables(
            connection: &mut <$database as sqlx::Database>::Connection,
            names: &Names,
        ) -> Result<(), Error> {
            // All in one round trip.
            match sqlx::raw_sql(names.statement(&probe(NEVER)))
                .execute(connection)
                .await
            {
                Ok(_) => Ok(()),
                Err(source) if is_missing(&source) => Err(incomplete(names, source)),
                Err(source) => Err($store_error("read idem's tables", source)),
            }
        }
    };
}

#[cfg(feature = "postgres")]
pub(crate) mod postgres {
    use sqlx::{PgPool, Postgres, Row as _};

    use super::{CREATE, Error, Found, KNOWN, Migration, Names, READ, check, incomplete, probe, write};
    use crate::postgres::{PgRoles, code_is, connect_error, store_error};

    const MIGRATIONS: &[Migration] = &[Migration {
        version: 1,
        min_reader: 1,
        sql: include_str!("../migrations/postgres/0001_foundation.sql"),
    }];

    /// Nobody needs a right to this table: the reference to it is checked with its owner's.
    const NEVER: &str = "SELECT '{never}'::regclass";

    const GRANTS: &str = "GRANT SELECT ON {schema} TO {application}, {auditor};
GRANT SELECT, INSERT, UPDATE, DELETE ON {record} TO {application};
GRANT SELECT, INSERT ON {ledger}, {ledger_detail} TO {application};
GRANT SELECT ON {record}, {ledger}, {ledger_detail} TO {auditor};

";

    runner!(Postgres, store_error);

    fn is_missing(source: &sqlx::Error) -> bool {
        // undefined_table, undefined_column
        code_is(source, "42P01") || code_is(source, "42703")
    }

    pub(crate) fn script(names: &Names, roles: Option<&PgRoles>) -> String {
        let tables = super::script(MIGRATIONS, names);
        let (owner, grants) = match roles {
            Some(roles) => (
                roles.fill("SET LOCAL ROLE {migrator};\n"),
                roles.fill(&names.fill(GRANTS)),
            ),
            None => Default::default(),
        };
        format!("BEGIN;\n{owner}{tables}{grants}COMMIT;\n")
    }

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
        // One process at a time, for as long as the transaction.
        sqlx::raw_sql(names.statement("SELECT pg_advisory_xact_lock(hashtextextended('idem schema {schema}', 0))"))
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
            Ok(found) => {
                check(found.as_ref(), names)?;
                probe_tables(&mut connection, names).await
            }
            // undefined_table
            Err(source) if code_is(&source, "42P01") => check(None, names),
            Err(source) => Err(store_error("read the version of idem's tables", source)),
        }
    }
}

#[cfg(feature = "sqlite")]
pub(crate) mod sqlite {
    use sqlx::{Row as _, Sqlite, SqlitePool};

    use super::{CREATE, Error, Found, KNOWN, Migration, Names, READ, check, incomplete, probe, write};
    use crate::sqlite::store_error;

    const MIGRATIONS: &[Migration] = &[Migration {
        version: 1,
        min_reader: 1,
        sql: include_str!("../migrations/sqlite/0001_foundation.sql"),
    }];

    const NEVER: &str = "SELECT {never}.id FROM {never} WHERE 1 = 0";

    runner!(Sqlite, store_error);

    fn is_missing(source: &sqlx::Error) -> bool {
        source.as_database_error().is_some_and(|error| {
            ["no such table", "no such column"]
                .iter()
                .any(|text| error.message().starts_with(text))
        })
    }

    pub(crate) fn script(names: &Names) -> String {
        format!("BEGIN IMMEDIATE;\n{}COMMIT;\n", super::script(MIGRATIONS, names))
    }

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
            Ok(found) => {
                check(found.as_ref(), names)?;
                probe_tables(&mut connection, names).await
            }
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
