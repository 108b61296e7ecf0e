//! The parent's side.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{ARGUMENT, MARK, ROLE};

/// Prepares a child that plays a role.
pub fn role(name: &str) -> Role {
    let binary = std::env::current_exe().expect("the path of the running test binary");
    let mut command = Command::new(binary);
    command
        .args(["child_process_entry", "--nocapture", "--test-threads=1"])
        .env(ROLE, name);
    Role {
        name: name.to_owned(),
        command,
    }
}

/// A child that has not been started.
#[derive(Debug)]
pub struct Role {
    name: String,
    command: Command,
}

impl Role {
    /// Gives the child an argument, which it reads with [`argument`](super::argument).
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.command.env(format!("{ARGUMENT}{name}"), value.to_string());
        self
    }

    /// Sets a variable of the child's environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the child.
    ///
    /// # Panics
    ///
    /// When no process can be started.
    pub fn start(mut self) -> Child {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = self.command.spawn().expect("the test binary starts again");
        let stdout = process.stdout.take().expect("stdout is piped");
        let mut stderr = process.stderr.take().expect("stderr is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(said) = line.strip_prefix(MARK) {
                    let _ = sender.send(said.to_owned());
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Child {
            name: self.name,
            process,
            lines,
            errors: Some(errors),
            heard: Vec::new(),
        }
    }
}

/// A running child. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Child {
    name: String,
    process: std::process::Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    heard: Vec<String>,
}

impl Child {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next line the child says; `None` when it has ended without one.
    ///
    /// # Panics
    ///
    /// When it says nothing within 60 seconds.
    #[track_caller]
    pub fn line(&mut self) -> Option<String> {
        self.line_within(PATIENCE)
    }

    /// Reads on until the child says this line.
    ///
    /// # Panics
    ///
    /// When it ends without saying it, or does not say it within 60 seconds; the message tells what it said instead.
    #[track_caller]
    pub fn wait_for(&mut self, expected: &str) {
        let deadline = Instant::now() + PATIENCE;
        while let Some(line) = self.line_within(deadline.saturating_duration_since(Instant::now())) {
            if line == expected {
                return;
            }
        }
        let ended = self.reap();
        panic!(
            "child `{}` ended without saying `{expected}`: {ended:?}, it said {:?}",
            self.name, self.heard
        );
    }

    /// Tells the child a line, which it reads with [`hear`](super::hear).
    pub fn tell(&mut self, line: impl Display) {
        let stdin = self.process.stdin.as_mut().expect("stdin is piped and stays open");
        // A child that has ended does not listen; the test learns of it from its next question.
        let _ = writeln!(stdin, "{line}");
    }

    /// Kills the child (SIGKILL) and waits until it is gone.
    pub fn kill(mut self) -> Ended {
        self.process
            .kill()
            .expect("a child that has not been waited for can be killed");
        self.reap()
    }

    /// Stops the child (SIGSTOP): it keeps its connections and does nothing, as one does that lost its processor.
    /// Returns when every thread of it has stopped.
    pub fn pause(&self) {
        self.signal("STOP");
        // The signal is accepted at once and acted on when a thread is next scheduled.
        while !self.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets a stopped child go on (SIGCONT).
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Waits until the child ends by itself, and returns all it said since the lines that were read.
    ///
    /// # Panics
    ///
    /// When it says nothing for 60 seconds and does not end.
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let mut lines = Vec::new();
        while let Some(line) = self.line_within(PATIENCE) {
            lines.push(line);
        }
        Ended { lines, ..self.reap() }
    }

    /// Whether it has said nothing that was not read.
    #[cfg(test)]
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.lines.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty))
    }

    #[cfg(test)]
    pub(super) fn hang_up(&mut self) {
        self.process.stdin = None;
    }

    #[track_caller]
    fn line_within(&mut self, patience: Duration) -> Option<String> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                self.heard.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!(
                    "child `{}` has been silent for {PATIENCE:?}; it said {:?}",
                    self.name, self.heard
                )
            }
        }
    }

    /// Without `libc` and unsafe code, the shell's `kill` is what sends a signal other than SIGKILL.
    fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.id());
        let status = Command::new("sh").args(["-c", &command]).status().expect("a shell");
        assert!(status.success(), "could not send SIG{name} to child `{}`", self.name);
    }

    /// Whether each of its threads is in state `T`, the third word of its `stat`, after a name in parentheses.
    fn is_stopped(&self) -> bool {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", self.id())).expect("Linux, and a child not waited for");
        threads
            .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok())
            .all(|stat| {
                let state = stat.rsplit_once(") ").map(|(_, state)| state);
                state.is_some_and(|state| state.starts_with('T'))
            })
    }

    fn reap(&mut self) -> Ended {
        let status = self.process.wait().expect("a child can be waited for");
        let errors = self
            .errors
            .take()
            .map(|thread| thread.join().expect("the reader does not panic"));
        Ended {
            status,
            lines: Vec::new(),
            errors: errors.unwrap_or_default(),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It fails when the child has been waited for, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status, or the signal.
    pub status: ExitStatus,
    /// What it said and nobody had read.
    pub lines: Vec<String>,
    /// What it wrote to stderr: panics, mostly.
    pub errors: String,
}

impl Ended {
    /// Whether SIGKILL ended it.
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }

    /// Asserts that it played its role to the end, and returns the lines.
    ///
    /// # Panics
    ///
    /// When it did not.
    #[track_caller]
    pub fn success(self) -> Vec<String> {
        assert!(
            self.status.success(),
            "the child failed ({}): {}",
            self.status,
            self.errors
        );
        self.lines
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
