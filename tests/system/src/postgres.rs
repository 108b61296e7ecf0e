use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool, Row};

use crate::address;
use crate::wire::Proxy;

/// Creates an empty database on the test server.
///
/// # Panics
///
/// When there is no server, or it refuses a new database; the message says what to do.
#[track_caller]
pub fn postgres() -> Postgres {
    let server = match server(std::env::var(VARIABLE).ok()) {
        Ok(server) => server,
        Err(message) => panic!("{message}"),
    };
    SWEEP.call_once(|| {
        // Left-overs are a nuisance and no reason to fail: whoever really cannot reach the server hears of it below.
        let _ = blocking(sweep(&server));
    });
    let name = fresh_name();
    let create = format!("CREATE DATABASE {name} TEMPLATE template0");
    if let Err(error) = blocking(execute(&server, create)) {
        panic!(
            "cannot create a database on {}: {error}; {REMEDY}",
            address::without_password(&server)
        );
    }
    Postgres {
        url: address::with_database(&server, &name),
        server,
        name,
        roles: Mutex::default(),
    }
}

/// An empty database of one test. It is dropped with this value, whoever is connected; with `IDEM_TEST_KEEP=1` it is left
/// and named on stderr.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    server: String,
    name: String,
    roles: Mutex<Vec<String>>,
}

impl Postgres {
    /// Takes over the database that a killed process made, to drop it.
    ///
    /// # Panics
    ///
    /// When `url` is not that of such a database, or there is no server.
    #[track_caller]
    pub fn adopt(url: &str) -> Self {
        let server = match server(std::env::var(VARIABLE).ok()) {
            Ok(server) => server,
            Err(message) => panic!("{message}"),
        };
        let name = url
            .split(['/', '?'])
            .find(|part| part.starts_with(PREFIX))
            .unwrap_or_else(|| panic!("{} is no database of a test", address::without_password(url)))
            .to_owned();
        let url = url.to_owned();
        let roles = Mutex::default();
        Self {
            url,
            server,
            name,
            roles,
        }
    }

    /// The URL that sqlx and the stores take.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates a role that may do nothing yet, and returns its name, which needs quoting. Roles belong to the server; this one
    /// is dropped with the database.
    ///
    /// # Panics
    ///
    /// When the server refuses a new role.
    #[track_caller]
    pub fn role(&self, what: &str) -> String {
        let name = format!("{}-{what}", self.name);
        self.roles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(name.clone());
        if let Err(error) = blocking(execute(&self.server, format!("CREATE ROLE \"{name}\""))) {
            panic!(
                "cannot create a role on {}: {error}; {REMEDY}",
                address::without_password(&self.server)
            );
        }
        name
    }

    /// A pool of at most `connections` that sends nothing of its own (no test before acquiring), so that round trips
    /// can be counted.
    pub async fn pool(&self, connections: u32) -> PgPool {
        pool(&self.url, connections).await
    }

    /// One connection.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url)
            .await
            .expect("a connection to a database that was made a moment ago")
    }

    /// A wire to this database that counts, records, holds and cuts.
    pub fn wire(&self) -> Proxy {
        Proxy::start(&self.url)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if std::env::var_os("IDEM_TEST_KEEP").is_some() {
            eprintln!("kept {}", address::without_password(&self.url));
            return;
        }
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Err(error) = blocking(execute(&self.server, drop)) {
            eprintln!("could not drop {}: {error}", self.name);
        }
        // What they own and may do was in the database.
        for role in self.roles.get_mut().unwrap_or_else(PoisonError::into_inner) {
            if let Err(error) = blocking(execute(&self.server, format!("DROP ROLE IF EXISTS \"{role}\""))) {
                eprintln!("could not drop the role {role}: {error}");
            }
        }
    }
}

pub(crate) async fn pool(url: &str, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .connect(url)
        .await
        .expect("a pool on a database that was made a moment ago")
}

fn server(variable: Option<String>) -> Result<String, String> {
    variable
        .filter(|url| !url.is_empty())
        .ok_or_else(|| format!("{VARIABLE} is not set, and this test needs a PostgreSQL server; {REMEDY}"))
}

fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}_{}_{count}", unix_seconds(), std::process::id())
}

/// Drops the databases of tests that were killed, old ones that nobody is connected to, and their roles.
async fn sweep(server: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(server).await?;
    let names = sqlx::query("SELECT datname FROM pg_database WHERE starts_with(datname, $1)")
        .bind(PREFIX)
        .fetch_all(&mut connection)
        .await?;
    let before = unix_seconds() - LEFT_OVER_AFTER.as_secs();
    for row in names {
        let name: String = row.get(0);
        if created_at(&name).is_some_and(|at| at < before) {
            // Without FORCE it fails while somebody is connected, and then the database is no left-over.
            let _ = connection
                .execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name}")))
                .await;
        }
    }
    let roles = sqlx::query("SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)")
        .bind(PREFIX)
        .fetch_all(&mut connection)
        .await?;
    for row in roles {
        let role: String = row.get(0);
        let Some((database, what)) = role.split_once('-') else {
            continue;
        };
        let plain = what.bytes().all(|byte| byte.is_ascii_lowercase());
        if plain && created_at(database).is_some_and(|at| at < before) {
            // It fails while the database is there.
            let _ = connection
                .execute(AssertSqlSafe(format!("DROP ROLE IF EXISTS \"{role}\"")))
                .await;
        }
    }
    connection.close().await
}

/// When the database of this name was created, if it is one of ours.
fn created_at(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(PREFIX)?;
    let plain = rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if plain {
        rest.split('_').next()?.parse().ok()
    } else {
        None
    }
}

async fn execute(url: &str, statement: String) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    connection.execute(AssertSqlSafe(statement)).await?;
    connection.close().await
}

/// Runs a future on a thread and a runtime of its own: the caller may be inside a runtime, or be a destructor.
fn blocking<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(future)
        });
        thread.join().expect("the thread does not panic")
    })
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock past 1970")
        .as_secs()
}

static SWEEP: Once = Once::new();
const VARIABLE: &str = "IDEM_TEST_POSTGRES_URL";
const PREFIX: &str = "idem_test_";
const LEFT_OVER_AFTER: Duration = Duration::from_secs(3600);
const REMEDY: &str = "run `scripts/test`, which finds or starts one (`scripts/with-services cargo test ..` for a part of the \
                      tests), or set IDEM_TEST_POSTGRES_URL to a server where databases may be created, such as \
                      postgres://postgres@127.0.0.1:5432/postgres";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_is_an_error_that_says_what_to_do() {
        for variable in [None, Some(String::new())] {
            let message = server(variable).unwrap_err();
            assert!(message.contains("IDEM_TEST_POSTGRES_URL is not set"), "{message}");
            assert!(message.contains("scripts/test"), "{message}");
        }
    }

    #[test]
    fn only_our_own_names_are_swept() {
        assert_eq!(created_at("idem_test_1700000000_12_3"), Some(1_700_000_000));
        assert_eq!(created_at("idem_test_mine"), None);
        assert_eq!(created_at("idem_test_1700000000_12\"; DROP"), None);
        assert_eq!(created_at("other_1700000000_12_3"), None);
        assert!(created_at(&fresh_name()).is_some());
    }

    #[tokio::test]
    async fn databases_are_fresh_apart_and_gone_afterwards() {
        let (one, two) = (postgres(), postgres());
        let mut connection = one.connect().await;
        connection.execute("CREATE TABLE t (x int)").await.unwrap();
        let mut other = two.connect().await;
        let tables = sqlx::query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
            .fetch_all(&mut other)
            .await;
        assert_eq!(tables.unwrap().len(), 0);

        let name = one.name().to_owned();
        let role = one.role("reader");
        connection
            .execute(AssertSqlSafe(format!("GRANT SELECT ON t TO \"{role}\"")))
            .await
            .unwrap();
        drop(one); // while connected
        let left = sqlx::query(
            "SELECT datname FROM pg_database WHERE datname = $1 UNION ALL SELECT rolname FROM pg_roles WHERE rolname = $2",
        )
            .bind(name)
            .bind(role)
            .fetch_all(&mut other)
            .await;
        assert_eq!(left.unwrap().len(), 0);
    }
}
