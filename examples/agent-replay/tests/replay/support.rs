//! The program, the databases it is run on, and recordings made for a test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};

/// The line of JSON.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    pub calls: u64,
    pub executed: u64,
    pub replayed: u64,
    pub refused: u64,
    pub failed: u64,
    pub effects_if_raw_arguments_were_hashed: u64,
    pub effects_if_canonical_arguments_were_hashed: u64,
    pub effect_rows: u64,
    pub ledger_executed: u64,
    pub kills: u64,
}

/// What a run of the program came to.
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The figures of a run that ended well and said nothing else on standard output.
    pub fn figures(&self) -> Figures {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// The program with these arguments.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent-replay"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Run {
    let Output { status, stdout, stderr } = program(arguments).output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("the program speaks UTF-8");
    Run {
        status: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// A folder that is removed at the end of its test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(unique());
        std::fs::create_dir(&path).expect("the temp directory can be written");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A recording of these lines.
    pub fn recording(&self, lines: impl AsRef<[u8]>) -> String {
        let path = self.0.join(format!("{}.jsonl", unique()));
        std::fs::write(&path, lines).expect("the folder can be written");
        path.to_str().expect("the path is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A new, empty database.
pub struct Database {
    pub url: String,
    /// Of SQLite: where the file is.
    _folder: Option<Folder>,
    /// Of PostgreSQL: the server, and the name to drop at the end.
    server: Option<(String, String)>,
}

impl Database {
    /// One of each engine.
    pub fn both() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    pub fn sqlite() -> Self {
        let folder = Folder::new();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("replay.sqlite").display());
        Self {
            url,
            _folder: Some(folder),
            server: None,
        }
    }

    pub fn postgres() -> Self {
        let server = std::env::var("IDEM_TEST_POSTGRES_URL")
            .expect("IDEM_TEST_POSTGRES_URL names a PostgreSQL server; `scripts/test` finds or starts one");
        let name = unique();
        execute(&server, &format!("CREATE DATABASE {name}"));
        let (base, settings) = server
            .split_once('?')
            .map_or((&*server, None), |(base, settings)| (base, Some(settings)));
        let host = base.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let url = settings.map_or(format!("{host}/{name}"), |settings| format!("{host}/{name}?{settings}"));
        Self {
            url,
            _folder: None,
            server: Some((server, name)),
        }
    }

    /// Runs the program on this database and reads its line of JSON.
    pub fn figures(&self, arguments: &[&str]) -> Figures {
        self.run(&[&["--json"], arguments].concat()).figures()
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        run(&[&["--database", &self.url], arguments].concat())
    }

    /// Changes the database behind the program's back.
    pub fn execute(&self, statement: &str) {
        execute(&self.url, statement);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server {
            execute(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

fn execute(url: &str, statement: &str) {
    sqlx::any::install_default_drivers();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut connection = AnyConnection::connect(url)
            .await
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        let done = connection.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
        connection.close().await.expect("the connection closes");
    });
}

/// A name that no other test has.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "idem_test_replay_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}
