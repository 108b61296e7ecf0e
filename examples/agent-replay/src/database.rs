//! The database, SQLite or PostgreSQL, by its URL.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use idem::{Idem, PgStore, SqliteStore};
use sqlx::{AnyConnection, Connection};

use crate::airline;
use crate::failure::{Failure, without_password};
use crate::recording::Call;
use crate::serve::{Answer, Settings, pass};

/// An open database that has the tables of idem and of the airline.
pub struct Database {
    url: String,
    store: Store,
}

enum Store {
    Sqlite(Idem<SqliteStore>),
    Postgres(Idem<PgStore>),
}

impl Database {
    /// Opens the database at `url`, or a new file in the temp directory.
    pub async fn open(url: Option<&str>) -> Result<Self, Failure> {
        let url = url.map_or_else(new_file, str::to_owned);
        let scheme = url.split_once(':').map(|(scheme, _)| scheme);
        match scheme {
            Some("sqlite") if url.contains(":memory:") || url.contains("mode=memory") => {
                return Err(Failure::Option(
                    "--database: a database in memory is gone with its process; give a file, sqlite://PATH?mode=rwc"
                        .into(),
                ));
            }
            Some("sqlite" | "postgres" | "postgresql") => {}
            _ => {
                return Err(Failure::Option(format!(
                    "--database: {} is neither sqlite://PATH?mode=rwc nor postgres://USER@HOST/NAME",
                    without_password(&url)
                )));
            }
        }
        // A connection of our own first: it tells at once that nobody listens, where a pool would keep trying.
        let mut connection = connect(&url).await?;
        let failed = |error| Failure::database(&url, error);
        let store = if scheme == Some("sqlite") {
            Store::Sqlite(Idem::new(SqliteStore::connect(&url).await.map_err(failed)?))
        } else {
            Store::Postgres(Idem::new(PgStore::connect(&url).await.map_err(failed)?))
        };
        airline::create_tables(&mut connection)
            .await
            .map_err(|error| Failure::database(&url, error))?;
        Ok(Self { url, store })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL for a person to read.
    pub fn name(&self) -> String {
        without_password(&self.url)
    }

    /// A connection for what both engines do alike: the airline's tables, and the questions at the end.
    pub async fn connect(&self) -> Result<AnyConnection, Failure> {
        connect(&self.url).await
    }

    /// Serves all calls and tells each answer with the index of its call.
    pub async fn pass(
        &self,
        settings: &Settings,
        calls: &[Call],
        tell: impl FnMut(usize, Answer),
    ) -> Result<(), Failure> {
        let ended = match &self.store {
            Store::Sqlite(idem) => pass(idem, settings, calls, tell).await,
            Store::Postgres(idem) => pass(idem, settings, calls, tell).await,
        };
        ended.map_err(|stopped| Failure::Stopped(stopped.into()))
    }

    pub fn failure(&self, error: sqlx::Error) -> Failure {
        Failure::database(&self.url, error)
    }
}

async fn connect(url: &str) -> Result<AnyConnection, Failure> {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(url)
        .await
        .map_err(|error| Failure::database(url, error))
}

/// The URL of a file that does not exist yet.
fn new_file() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("agent-replay-{}-{}.sqlite", now.as_millis(), std::process::id());
    format!("sqlite://{}?mode=rwc", escaped(&std::env::temp_dir().join(name)))
}

/// The path as a part of a URL.
fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3F")
        .replace('#', "%23")
}
