//! In which settings a case is asked.

use std::fmt;

use super::{Database, Server};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Memory,
    Sqlite,
    Postgres,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Leased,
    Transactional,
}

pub type Setting = (Storage, Mode);

use Mode::{Leased, Transactional};
use Storage::{Memory, Postgres, Sqlite};

/// For what storage has no say in.
pub const IN_MEMORY: &[Setting] = &[(Memory, Leased), (Memory, Transactional)];
pub const LEASED: &[Setting] = &[(Memory, Leased), (Sqlite, Leased), (Postgres, Leased)];
pub const TRANSACTIONAL: &[Setting] = &[
    (Memory, Transactional),
    (Sqlite, Transactional),
    (Postgres, Transactional),
];
/// For what more than one process, or one after another, has to do with.
pub const SHARED: &[Setting] = &[
    (Sqlite, Leased),
    (Sqlite, Transactional),
    (Postgres, Leased),
    (Postgres, Transactional),
];
pub const LEASED_IN_FILES: &[Setting] = &[(Sqlite, Leased), (Postgres, Leased)];
pub const TRANSACTIONAL_IN_FILES: &[Setting] = &[(Sqlite, Transactional), (Postgres, Transactional)];

/// A setting with a database of its own.
pub struct Place {
    pub storage: Storage,
    pub mode: Mode,
    pub database: Database,
}

impl Place {
    fn new((storage, mode): Setting) -> Self {
        let database = match storage {
            Memory => Database::memory(),
            Sqlite => Database::sqlite(),
            Postgres => Database::postgres(),
        };
        Self {
            storage,
            mode,
            database,
        }
    }

    /// Starts a server here. It may be another one on the same database.
    pub fn start(&self, arguments: &[&str]) -> Server {
        let mode = match self.mode {
            Leased => "leased",
            Transactional => "transactional",
        };
        let here = ["--database", &self.database.url, "--mode", mode];
        Server::start(&[&here, arguments].concat())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}", self.storage, self.mode)
    }
}

/// Asks a case in every setting, on a server of its own.
#[track_caller]
pub fn everywhere(arguments: &[&str], case: impl Fn(&Server) + Sync) {
    in_settings(&[LEASED, TRANSACTIONAL].concat(), |place| case(&place.start(arguments)));
}

/// Asks a case in these settings at once; a failure says in which.
#[track_caller]
pub fn in_settings(settings: &[Setting], case: impl Fn(&Place) + Sync) {
    let failed: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = settings
            .iter()
            .map(|&setting| {
                let case = &case;
                (setting, scope.spawn(move || case(&Place::new(setting))))
            })
            .collect();
        let ended = running.into_iter().map(|(setting, thread)| (setting, thread.join()));
        ended
            .filter_map(|(setting, ended)| ended.err().map(|cause| (setting, cause)))
            .map(|((storage, mode), cause)| {
                let text = cause.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
                format!("[{storage:?}, {mode:?}] {}", text.unwrap_or("a panic without text"))
            })
            .collect()
    });
    assert!(
        failed.is_empty(),
        "failed in {} of {} settings:\n{}",
        failed.len(),
        settings.len(),
        failed.join("\n")
    );
}
