//! The child's side.

use std::io::{BufRead, Write};
use std::process::exit;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};

use super::{ARGUMENT, MARK, ROLE};

/// Plays the role that `IDEM_CHILD_ROLE` names, if it is one of these, and ends the process; otherwise returns.
pub fn host(roles: &[(&str, fn())]) {
    let Ok(role) = std::env::var(ROLE) else { return };
    if let Some((_, play)) = roles.iter().find(|(name, _)| *name == role) {
        listen();
        play();
        exit(0);
    }
}

/// Tells the parent a line.
pub fn say(line: impl std::fmt::Display) {
    // Past the test harness, which captures what `println!` writes, and which has begun a line of its own.
    let mut stdout = std::io::stdout().lock();
    // A parent that is gone does not listen, and ends this process by other means.
    let _ = write!(stdout, "\n{MARK}{line}\n");
    let _ = stdout.flush();
}

/// Waits for a line from the parent.
pub fn hear() -> String {
    let lines = LINES
        .get()
        .expect("only a role that is hosted listens")
        .lock()
        .expect("one listener at a time");
    // The sender ends the process rather than hanging up.
    lines.recv().expect("the parent is there")
}

/// What the parent gave by this name.
///
/// # Panics
///
/// When it gave nothing.
pub fn argument(name: &str) -> String {
    std::env::var(format!("{ARGUMENT}{name}")).unwrap_or_else(|_| panic!("the parent gave no {name}"))
}

/// Runs a future on a runtime of its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Reads what the parent says. The end of it is the end of the parent, and of this process: a test that was killed leaves
/// no child behind.
fn listen() {
    let (sender, receiver) = channel();
    if LINES.set(Mutex::new(receiver)).is_err() {
        return;
    }
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
        exit(ORPHANED);
    });
}

static LINES: OnceLock<Mutex<Receiver<String>>> = OnceLock::new();
const ORPHANED: i32 = 86;
