use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// How a server ends before it starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Sessions are cut off and their transactions rolled back.
    Fast,
    /// As a crash: nothing is written or rolled back, and the server recovers from its log.
    Crash,
}

/// Starts a PostgreSQL server that belongs to one test, with fsync on.
///
/// # Panics
///
/// When it does not start; what is missing is said on standard error.
#[track_caller]
pub fn private_server() -> PrivateServer {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/private-postgres");
    let mut process = Command::new(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("scripts/private-postgres starts");
    let stdin = process.stdin.take().expect("stdin is piped");
    let mut stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
    let url = line(&mut stdout).expect("no private server; scripts/private-postgres has said why on standard error");
    PrivateServer {
        url,
        process,
        talk: Mutex::new(Some((stdin, stdout))),
    }
}

/// A server of one test. It is stopped and removed with this value, and when the test is killed.
#[derive(Debug)]
pub struct PrivateServer {
    url: String,
    process: Child,
    talk: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl PrivateServer {
    /// The URL that sqlx and the stores take.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Restarts the server, and returns when it takes connections again.
    ///
    /// # Panics
    ///
    /// When it does not come back.
    pub fn restart(&self, how: Restart) {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let (stdin, stdout) = talk.as_mut().expect("it is taken by the destructor alone");
        let mode = match how {
            Restart::Fast => "fast",
            Restart::Crash => "immediate",
        };
        writeln!(stdin, "{mode}").expect("the script listens");
        assert_eq!(line(stdout).as_deref(), Some("up"), "the server did not come back");
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // The end of its input tells the script to stop the server.
        self.talk.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.process.wait();
    }
}

fn line(stdout: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut text = String::new();
    stdout.read_line(&mut text).expect("the script speaks UTF-8");
    text.strip_suffix('\n').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, Executor, PgConnection, Row};

    use super::*;

    #[tokio::test]
    async fn a_restart_ends_every_session_and_keeps_what_was_committed() {
        let server = private_server();
        let mut before = PgConnection::connect(server.url()).await.expect("it runs");
        before.execute("CREATE TABLE kept (n int)").await.expect("created");
        for how in [Restart::Crash, Restart::Fast] {
            let mut open = PgConnection::connect(server.url()).await.expect("it runs");
            open.execute("INSERT INTO kept VALUES (1)").await.expect("inserted");
            open.execute("BEGIN").await.expect("begun");
            open.execute("INSERT INTO kept VALUES (2)").await.expect("inserted");
            server.restart(how);
            assert!(open.execute("COMMIT").await.is_err(), "{how:?}");
        }
        assert!(before.execute("SELECT 1").await.is_err());
        let mut after = PgConnection::connect(server.url()).await.expect("it is back");
        let row = after
            .fetch_one("SELECT count(*), max(n) FROM kept")
            .await
            .expect("read");
        assert_eq!((row.get::<i64, _>(0), row.get::<i32, _>(1)), (2, 1));
    }
}
