use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

/// Names a fresh SQLite file in a folder of its own; the file is created by the first connection.
///
/// # Panics
///
/// When the folder cannot be made.
#[track_caller]
pub fn sqlite() -> Sqlite {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("idem-test-{}-{count}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                return Sqlite {
                    file: folder.join("test.sqlite"),
                    folder,
                };
            }
            // A killed process of the same number left it.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => panic!(
                "cannot make {}: {error}; set TMPDIR to a folder that can be written",
                folder.display()
            ),
        }
    }
}

/// A SQLite file of one test, removed with this value; with `IDEM_TEST_KEEP=1` it is left and named on stderr.
#[derive(Debug)]
pub struct Sqlite {
    folder: PathBuf,
    file: PathBuf,
}

impl Sqlite {
    /// The URL that sqlx and the stores take; a missing file is created.
    pub fn url(&self) -> String {
        format!("sqlite://{}?mode=rwc", self.file.display())
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// A pool of at most `connections`.
    pub async fn pool(&self, connections: u32) -> SqlitePool {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&self.url())
            .await
            .expect("a pool on a file in a folder that was made a moment ago")
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if std::env::var_os("IDEM_TEST_KEEP").is_some() {
            eprintln!("kept {}", self.file.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("could not remove {}: {error}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_fresh_apart_and_gone_afterwards() {
        let (one, two) = (sqlite(), sqlite());
        sqlx::query("CREATE TABLE t (x)")
            .execute(&one.pool(1).await)
            .await
            .unwrap();
        let tables = sqlx::query("SELECT 1 FROM sqlite_schema")
            .fetch_all(&two.pool(1).await)
            .await
            .unwrap();
        assert_eq!(tables.len(), 0);
        let path = one.path().to_owned();
        assert!(path.exists());
        drop(one);
        assert!(!path.exists());
    }
}
