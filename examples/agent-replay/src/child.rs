//! One pass in a process of its own: how it is started, what it tells, how it ends.

use std::io::Write;
use std::process::{ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::breakpoint::Stop;
use crate::failure::Failure;
use crate::options::Options;
use crate::remote::Airline;
use crate::serve::Answer;

/// What a child tells its supervisor: one line of JSON each, on its standard output.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The call with this index has been answered.
    Answered(usize, Answer),
    /// The child stands at the point of this name and waits for its end.
    At(String),
}

impl Message {
    /// Tells the supervisor. A child without a supervisor has no purpose and ends.
    pub fn send(&self) {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(0);
        }
    }
}

/// What a child is to do.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    pub options: &'a Options,
    pub database: &'a str,
    pub airline: Option<Airline>,
}

/// A child process that serves one pass.
pub struct Child {
    process: tokio::process::Child,
    messages: Lines<BufReader<ChildStdout>>,
    /// Held so that the child sees its end when this process is gone.
    _stdin: ChildStdin,
}

impl Child {
    pub fn start(work: &Work<'_>, stop: Option<&Stop>) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::process)?;
        let mut command = Command::new(program);
        command.args(work.options.for_child(work.database, work.airline));
        if let Some(stop) = stop {
            command.arg("--stop").arg(stop.to_string());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().map_err(Failure::process)?;
        // Both were asked for as pipes.
        let (stdin, stdout) = (
            process.stdin.take().expect("piped"),
            process.stdout.take().expect("piped"),
        );
        Ok(Self {
            process,
            messages: BufReader::new(stdout).lines(),
            _stdin: stdin,
        })
    }

    /// The next message, or `None` once the child has ended.
    pub async fn message(&mut self) -> Result<Option<Message>, Failure> {
        let line = self.messages.next_line().await.map_err(Failure::process)?;
        line.map(|line| serde_json::from_str(&line).map_err(Failure::process))
            .transpose()
    }

    /// Kills the child with SIGKILL and says whether that is what ended it; it may have been done just before.
    pub async fn kill(mut self) -> Result<bool, Failure> {
        self.process.kill().await.map_err(Failure::process)?;
        let status = self.process.wait().await.map_err(Failure::process)?;
        // On Unix a process that was killed has no exit code; elsewhere it has one that means failure.
        if status.code().is_none() || (cfg!(not(unix)) && !status.success()) {
            Ok(true)
        } else {
            check(status).map(|()| false)
        }
    }

    /// Waits for the end of a child that is not killed. What went wrong has been said by the child itself.
    pub async fn finish(mut self) -> Result<(), Failure> {
        check(self.process.wait().await.map_err(Failure::process)?)
    }
}

fn check(status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Child(status))
    }
}
