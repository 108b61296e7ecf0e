use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;

use crate::{Postgres, address};

/// Starts PgBouncer in transaction mode in front of a database, with at most `servers` connections to it. It does not keep
/// prepared statements apart: versions that can are told not to.
///
/// # Panics
///
/// When there is no PgBouncer, or it does not start; the message says what to do.
#[track_caller]
pub fn pgbouncer(database: &Postgres, servers: u32) -> PgBouncer {
    let program = match program(std::env::var_os(VARIABLE).map(PathBuf::from)) {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    };
    let folder = std::env::temp_dir().join(format!("{}-pgbouncer-{}", database.name(), free_port()));
    std::fs::create_dir(&folder).unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    for _ in 0..ATTEMPTS {
        let port = free_port();
        let bouncer = PgBouncer {
            url: address::with_local_port(database.url(), port),
            process: start(&program, &folder, &configuration(&program, database, port, servers)),
            folder: folder.clone(),
        };
        if let Some(bouncer) = bouncer.once_it_listens(port) {
            return bouncer;
        }
    }
    panic!("{} does not start; it has said why above", program.display())
}

/// A PgBouncer of one test. It ends with this value, and when the test is killed.
#[derive(Debug)]
pub struct PgBouncer {
    url: String,
    process: Child,
    folder: PathBuf,
}

impl PgBouncer {
    /// The URL of the database behind it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process once its port answers, or nothing when it has ended, because somebody took the port meanwhile for one.
    fn once_it_listens(mut self, port: u16) -> Option<Self> {
        let began = Instant::now();
        while began.elapsed() < STARTS_WITHIN {
            if self.process.try_wait().expect("a child of this process").is_some() {
                break;
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(self);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let log = std::fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        eprintln!("PgBouncer did not start on port {port}:\n{log}");
        None
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // The end of its input tells the shell to stop it.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn program(variable: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(path) = variable.filter(|path| !path.as_os_str().is_empty()) {
        return match path.is_file() {
            true => Ok(path),
            false => Err(format!(
                "{VARIABLE} names {}, which is no file; {REMEDY}",
                path.display()
            )),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        // Debian keeps it off the PATH of ordinary users.
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.is_file())
        .ok_or_else(|| format!("there is no `pgbouncer` here, and this test needs one; {REMEDY}"))
}

fn configuration(program: &Path, database: &Postgres, port: u16, servers: u32) -> String {
    let options: PgConnectOptions = database.url().parse().expect("a URL that has been used");
    let host = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let mut text = format!("[databases]\n* = host={host} port={}", options.get_port());
    let _ = write!(text, " user={}", options.get_username());
    if let Some(password) = address::password(database.url()) {
        let _ = write!(text, " password='{}'", password.replace('\'', "''"));
    }
    let _ = write!(
        text,
        "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
         pool_mode = transaction\ndefault_pool_size = {servers}\nmax_client_conn = 200\nquery_wait_timeout = 30\n\
         ignore_startup_parameters = extra_float_digits\n"
    );
    if keeps_statements(program) {
        text.push_str("max_prepared_statements = 0\n");
    }
    text
}

/// Whether this version can keep prepared statements apart, as those from 1.21 on do.
fn keeps_statements(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output().expect("its version");
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).unwrap_or_default();
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (1, 21)
}

fn start(program: &Path, folder: &Path, configuration: &str) -> Child {
    let file = folder.join("pgbouncer.ini");
    std::fs::write(&file, configuration).expect("a file in a folder that was made a moment ago");
    let log = std::fs::File::create(folder.join(LOG)).expect("a file in the same folder");
    // A shell that lives as long as the test, and ends the program with itself.
    let mut command = Command::new("sh");
    command.args(["-c", "\"$@\" & program=$!; cat; kill $program; wait", "sh"]);
    command.arg(program);
    if is_root() {
        // It refuses to run as root.
        command.args(["-u", if user_exists("postgres") { "postgres" } else { "nobody" }]);
    }
    command.arg(file);
    command
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log);
    command.spawn().expect("a shell")
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("`id` is everywhere");
    output.stdout.trim_ascii() == b"0"
}

fn user_exists(name: &str) -> bool {
    let output = Command::new("id").args(["-u", name]).output();
    output.is_ok_and(|output| output.status.success())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("it is bound").port()
}

const VARIABLE: &str = "IDEM_TEST_PGBOUNCER";
const LOG: &str = "pgbouncer.log";
const ATTEMPTS: u32 = 3;
const STARTS_WITHIN: Duration = Duration::from_secs(10);
const REMEDY: &str = "run `scripts/test`, which finds or installs it, or install the package `pgbouncer`, or set \
                      IDEM_TEST_PGBOUNCER to the program";

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, PgConnection};

    use super::*;
    use crate::postgres;

    #[test]
    fn a_missing_program_is_an_error_that_says_what_to_do() {
        let message = program(Some("/nowhere/pgbouncer".into())).unwrap_err();
        assert!(
            message.contains("/nowhere/pgbouncer") && message.contains("scripts/test"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn it_gives_a_connection_for_the_length_of_a_transaction_and_ends_with_its_value() {
        let database = postgres();
        let bouncer = pgbouncer(&database, 1);
        let mut one = PgConnection::connect(bouncer.url()).await.expect("connected");
        let mut two = PgConnection::connect(bouncer.url()).await.expect("connected");
        for connection in [&mut one, &mut two] {
            let mut transaction = connection.begin().await.expect("begun");
            sqlx::raw_sql("SELECT 1")
                .execute(&mut *transaction)
                .await
                .expect("answered");
            transaction.commit().await.expect("committed");
        }
        let url = bouncer.url().to_owned();
        drop(bouncer);
        assert!(PgConnection::connect(&url).await.is_err());
    }
}
