//! A crash between the commit and the answer, for the tests of services.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::clock::random_bytes;

/// Runs `body` in a child process that is killed when its first call has committed, then once more in this process, and
/// returns what it returns here.
///
/// This is the crash that a service without a boundary pays for twice: the effect stands, and nobody was told. So the
/// second run has to end in [`Done::Replayed`](crate::Done::Replayed), and what counts effects has to say one; assert
/// both. An effect that the handler has outside of idem's calls happened in the child as well, and is counted twice.
///
/// The child is this test binary, started for `test` alone. It dies on the spot, without destructors or flushes, when the
/// storage has acknowledged the outcome of a `transaction`, `begin`, `run` or `lease`, a success or a final error, and
/// before the caller has it. What was joined to a transaction of your own is not known to be committed and does not
/// count. Only calls of `body` do; what the test does before it is done in the child too. A test calls this once.
///
/// `test` is the name of the test as `cargo test -- --list` prints it: with its modules, without the crate. `body` has to
/// open its storage itself, one that outlives a process, at an address that is the same in both runs: below
/// [`Run::folder`], or made by [`Run::shared`]; and its call needs the same key in both runs, which the tenant of an
/// [`Intent::new`](super::Intent::new) would not give. It runs on the runtime of the caller: `#[tokio::test]`, or `block_on` in
/// a `#[test]`.
///
/// # Panics
///
/// Says what the child wrote and what to do, when
///
/// - the test of the name is not there, is not the one that calls this, or gave up before;
/// - `body` panicked in the child, or the child died of something else;
/// - `body` ended in the child and no call of it had committed.
///
/// # Cancel safety
///
/// Dropping the future leaves the child running to its end; its folder is removed.
///
/// # Examples
///
/// With the feature `testing` of `idem-rs`, or of `idem-core`, among `dev-dependencies`:
///
/// ```no_run
/// # use idem_core::{Done, EffectError, Idem, MemoryConnection, MemoryStore, testing::Intent};
/// # struct FileStore;
/// # impl FileStore {
/// #     async fn open(file: std::path::PathBuf) -> MemoryStore { MemoryStore::new() }
/// # }
/// # async fn refunds(folder: &std::path::Path) -> usize { 1 }
/// # async fn issue_refund(idem: &Idem<MemoryStore>) -> Result<Done<u32>, idem_core::Error> {
/// #     idem.transaction(&Intent::new("c"), async |_: &mut MemoryConnection| Ok(7)).await
/// # }
/// use idem_core::testing::kill_after_commit;
///
/// # const _: &str = stringify! {
/// #[tokio::test]
/// # };
/// async fn a_crash_after_the_commit_refunds_once() {
///     let (done, refunds) = kill_after_commit("a_crash_after_the_commit_refunds_once", async |run| {
///         let idem = Idem::new(FileStore::open(run.folder().join("test.db")).await);
///         (issue_refund(&idem).await, refunds(run.folder()).await)
///     })
///     .await;
///     assert!(matches!(done, Ok(Done::Replayed(_))), "{done:?}");
///     assert_eq!(refunds, 1);
/// }
/// ```
pub async fn kill_after_commit<T, F>(test: &str, body: F) -> T
where
    F: AsyncFnOnce(&Run) -> T,
{
    // Each test has closures of its own, so this tells whether the child runs the test that asked for it.
    let this = std::any::type_name::<F>();
    if let Some(root) = std::env::var_os(ROOT) {
        let run = Run::below(root.into());
        let asked = std::env::var(BODY).unwrap_or_default();
        assert_eq!(
            asked, this,
            "another test gave `{test}` to `kill_after_commit`; give the name of the test that calls it"
        );
        die_in_the_child(run, body).await;
    }
    let run = Run::new();
    let _removed = Removed(&run.root);
    let command = child(test, this, &run.root);
    let output = tokio::task::spawn_blocking(move || start(command))
        .await
        .expect("starting a process does not panic");
    if let Err(fault) = judge(test, &run, &output) {
        panic!("kill_after_commit: {fault}\n{}", written(&output));
    }
    body(&run).await
}

/// What the two runs of a body have in common.
#[derive(Debug)]
pub struct Run {
    /// What belongs to this module: values that are shared, and marks of how far the child came.
    root: PathBuf,
    folder: PathBuf,
}

impl Run {
    fn below(root: PathBuf) -> Self {
        let folder = root.join("body");
        Self { root, folder }
    }

    fn new() -> Self {
        let random = random_bytes::<8>().expect("the operating system gives random bytes");
        let root = std::env::temp_dir().join(format!("idem-kill-{:016x}", u64::from_be_bytes(random)));
        let run = Self::below(root);
        for folder in [&run.folder, &run.root.join(SHARED)] {
            if let Err(error) = fs::create_dir_all(folder) {
                panic!(
                    "cannot make {}: {error}; set TMPDIR to a folder that can be written",
                    folder.display()
                );
            }
        }
        run
    }

    /// A folder that is empty in the first run and as that one left it in the second; removed afterwards.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What `make` returned in the first run, in both.
    ///
    /// For an address that has to be made: a database, a tenant, a port. `name` tells several apart.
    ///
    /// # Panics
    ///
    /// When it cannot be written or read, or `name` is no name of a file.
    pub fn shared(&self, name: &str, make: impl FnOnce() -> String) -> String {
        let file = self.root.join(SHARED).join(name);
        match fs::read_to_string(&file) {
            Ok(value) => value,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let value = make();
                if let Err(error) = fs::write(&file, &value) {
                    panic!("cannot keep `{name}` in {}: {error}", file.display());
                }
                value
            }
            Err(error) => panic!("cannot read `{name}` from {}: {error}", file.display()),
        }
    }

    fn mark(&self, mark: &str) {
        let file = self.root.join(mark);
        if let Err(error) = fs::write(&file, "") {
            panic!("cannot write {}: {error}", file.display());
        }
    }

    fn has(&self, mark: &str) -> bool {
        self.root.join(mark).exists()
    }
}

/// Kills this process, if it is the child of a [`kill_after_commit`] whose body runs.
///
/// Called where an outcome has become durable and its caller does not know yet.
pub(crate) fn durable() {
    if let Some(run) = TO_BE_KILLED.get() {
        run.mark(KILLED);
        std::process::abort();
    }
}

/// The body runs in this process until its first commit.
static TO_BE_KILLED: OnceLock<Run> = OnceLock::new();

async fn die_in_the_child<T>(run: Run, body: impl AsyncFnOnce(&Run) -> T) -> ! {
    run.mark(REACHED);
    let run = TO_BE_KILLED.get_or_init(|| run);
    body(run).await;
    run.mark(ENDED);
    panic!("the body ended without a commit");
}

fn child(test: &str, body: &str, root: &Path) -> Command {
    let binary = match std::env::current_exe() {
        Ok(binary) => binary,
        Err(error) => panic!("kill_after_commit: cannot find this test binary to start it again: {error}"),
    };
    let mut command = Command::new(binary);
    command
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(BODY, body)
        .env(ROOT, root);
    command
}

fn start(mut command: Command) -> Output {
    match command.output() {
        Ok(output) => output,
        Err(error) => panic!("kill_after_commit: cannot start this test binary again: {error}"),
    }
}

/// Whether the child died where it should, or what went wrong and what to do.
fn judge(test: &str, run: &Run, output: &Output) -> Result<(), String> {
    let ended = output.status;
    if run.has(KILLED) {
        return match ended.success() {
            false => Ok(()),
            true => Err(format!(
                "`{test}` committed and was not killed by it; the test binary needs the harness of `cargo test`"
            )),
        };
    }
    if !run.has(REACHED) {
        return Err(format!(
            "the child ({ended}) did not come to this call of `kill_after_commit` by running a test `{test}`; give the name of the test that calls it as `cargo test -- --list` prints it, with its modules and without the crate"
        ));
    }
    if run.has(ENDED) {
        return Err(format!(
            "the body of `{test}` ended and no call of it had committed; have it make a call of idem that runs its effect for the first time (a store and a key of this run alone, an effect that succeeds, no `join`)"
        ));
    }
    Err(format!(
        "the body of `{test}` failed before a call of it had committed ({ended}); make it pass without `kill_after_commit` first"
    ))
}

fn written(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    format!(
        "--- the child's stdout\n{}\n--- the child's stderr\n{}\n---",
        text(&output.stdout),
        text(&output.stderr)
    )
}

struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(self.0) {
            eprintln!("could not remove {}: {error}", self.0.display());
        }
    }
}

const BODY: &str = "IDEM_KILL_AFTER_COMMIT_BODY";
const ROOT: &str = "IDEM_KILL_AFTER_COMMIT_FOLDER";
/// Below the root of a [`Run`].
const SHARED: &str = "shared";
const REACHED: &str = "reached";
const ENDED: &str = "ended";
const KILLED: &str = "killed";
