//! The database, SQLite or PostgreSQL, by its URL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use idem::{Idem, PgStore, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AnyConnection, Connection};

use crate::airline;
use crate::failure::{Failure, without_password};
use crate::patience::Patience;
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

impl Store {
    async fn open(url: &str) -> Result<Self, idem::Error> {
        Ok(if url.starts_with("sqlite:") {
            Self::Sqlite(Idem::with_settings(SqliteStore::connect(url).await?, settings())?)
        } else {
            Self::Postgres(Idem::with_settings(PgStore::connect(url).await?, settings())?)
        })
    }
}

impl Database {
    /// Opens the database at `url`, or a new file in the temp directory, and creates the tables that are missing.
    pub async fn open(url: Option<&str>) -> Result<Self, Failure> {
        let url = url.map_or_else(new_file, str::to_owned);
        check(&url)?;
        // A connection of our own first: it tells at once that nobody listens, where a pool would keep trying.
        let mut connection = connect(&url).await?;
        let store = Store::open(&url)
            .await
            .map_err(|error| Failure::database(&url, error))?;
        airline::create_tables(&mut connection)
            .await
            .map_err(|error| Failure::database(&url, error))?;
        Ok(Self { url, store })
    }

    /// Opens the database for a child. Its supervisor has opened it before, so that a fault will pass.
    pub async fn join(url: &str) -> Result<Self, Failure> {
        let mut patience = Patience::new();
        loop {
            match Store::open(url).await {
                Ok(store) => {
                    return Ok(Self {
                        url: url.to_owned(),
                        store,
                    });
                }
                Err(error) => patience
                    .wait(error)
                    .await
                    .map_err(|error| Failure::database(url, error))?,
            }
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL for a person to read.
    pub fn name(&self) -> String {
        without_password(&self.url)
    }

    /// Where the airline of leased mode keeps its books unless it is told: beside the file of SQLite, so that another run
    /// finds them, or in a new file.
    pub fn airline_books(&self) -> PathBuf {
        let file = SqliteConnectOptions::from_str(&self.url).map(|options| options.get_filename().to_owned());
        match file {
            Ok(file) if self.url.starts_with("sqlite:") => {
                let mut name = file.into_os_string();
                name.push("-airline.jsonl");
                name.into()
            }
            _ => std::env::temp_dir().join(new_name("airline.jsonl")),
        }
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

/// Refuses a URL that names no database which a second process could open.
fn check(url: &str) -> Result<(), Failure> {
    let remedy = "give sqlite://PATH?mode=rwc or postgres://USER@HOST/NAME";
    let url = without_password(url);
    if !["sqlite:", "postgres:", "postgresql:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        return Err(Failure::Option(format!(
            "--database: {url} is of neither engine; {remedy}"
        )));
    }
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(Failure::Option(format!(
            "--database: {url} is gone with its process; {remedy}"
        )));
    }
    Ok(())
}

/// The URL of a file that does not exist yet.
fn new_file() -> String {
    let path = std::env::temp_dir().join(new_name("sqlite"));
    format!("sqlite://{}?mode=rwc", escaped(&path))
}

fn new_name(extension: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("agent-replay-{}-{}.{extension}", now.as_millis(), std::process::id())
}

/// The airline answers at once, so a lease is short: it is how long a claim of a process that was killed stands in the way.
fn settings() -> idem::Settings {
    idem::Settings::default().lease(Duration::from_millis(500))
}

/// The path as a part of a URL.
fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3F")
        .replace('#', "%23")
}
