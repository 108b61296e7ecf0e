//! The recorded tool calls: JSON Lines of `task`, `trial`, `seq`, `tool`, `arguments` and `result`.
//!
//! A recording is read whole before anything is written. One bad line and nothing is served: the calls after it would
//! run without the one they may depend on.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use idem::{Fingerprint, IdempotencyKey, Place, Tenant};

use crate::members::{Members, Problem};
use crate::tools::{self, Tool};

/// One tool call that a model made, and what the tool answered.
pub struct Call {
    /// Where the recording has it.
    pub line: usize,
    /// The customer's request.
    pub task: i64,
    /// The model's attempt at it.
    pub trial: i64,
    /// The step of the attempt.
    pub seq: i64,
    pub tool: Tool,
    pub key: IdempotencyKey,
    pub fingerprint: Fingerprint,
    /// What may have one effect only, if the run says so.
    pub place: Option<Place>,
    /// The arguments exactly as the model wrote them.
    pub arguments: String,
    /// The RFC 8785 form of the arguments.
    pub canonical: String,
    /// What the tool answered.
    pub result: String,
}

impl Call {
    /// Whether the tool refused the call when it was recorded.
    pub fn failed(&self) -> bool {
        is_failure(&self.result)
    }

    pub fn step_id(&self) -> String {
        format!("{}/{}", self.trial, self.seq)
    }

    pub fn run_id(&self) -> String {
        self.task.to_string()
    }

    fn read(line: usize, text: &[u8], tenant: &Tenant) -> Result<Self, Problem> {
        let text = std::str::from_utf8(text).map_err(|_| Problem::new("the line is not UTF-8"))?;
        let (mut members, _) = Members::read(text)?;
        let task = members.integer("task")?;
        let (trial, seq) = (members.integer("trial")?, members.integer("seq")?);
        let (name, arguments) = (members.text("tool")?, members.text("arguments")?);
        let result = members.text("result")?;
        let in_arguments = |problem: Problem| problem.within("arguments");
        let (given, canonical) = Members::read(&arguments).map_err(in_arguments)?;
        let tool = Tool::read(&name, task, given).map_err(in_arguments)?.ok_or_else(|| {
            let what = format!("unknown tool `{name}`; the airline has {}", tools::NAMES.join(", "));
            Problem::new(what).within("tool")
        })?;
        let (key, fingerprint) = tool.identity(tenant).map_err(|error| in_arguments(error.into()))?;
        let place = tool.place().map_err(|error| in_arguments(error.into()))?;
        Ok(Self {
            line,
            task,
            trial,
            seq,
            tool,
            key,
            fingerprint,
            place,
            arguments,
            canonical,
            result,
        })
    }
}

/// Whether a tool said no with this answer.
pub fn is_failure(result: &str) -> bool {
    result.starts_with("Error")
}

/// Reads the calls of a recording, in order.
pub fn read(path: &Path, tenant: &Tenant) -> Result<Vec<Call>, BadRecording> {
    let bytes = std::fs::read(path).map_err(|error| BadRecording::Unreadable(path.to_owned(), error))?;
    let mut calls = Vec::new();
    let mut problems = BTreeMap::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match Call::read(index + 1, line, tenant) {
            Ok(call) => calls.push(call),
            Err(problem) => _ = problems.insert(index + 1, problem),
        }
    }
    if problems.is_empty() {
        Ok(calls)
    } else {
        Err(BadRecording::Lines(path.to_owned(), problems))
    }
}

/// Why a recording cannot be served.
#[derive(Debug)]
pub enum BadRecording {
    Unreadable(PathBuf, std::io::Error),
    /// The first problem of every bad line, by line number.
    Lines(PathBuf, BTreeMap<usize, Problem>),
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(
                    f,
                    "cannot read {}: {error}; name a recording with --calls FILE",
                    path.display()
                )
            }
            Self::Lines(path, problems) => {
                let path = path.display();
                writeln!(f, "nothing was served, because the recording has bad lines")?;
                let shown: Vec<_> = problems.iter().take(SHOWN).collect();
                for (line, problem) in &shown {
                    writeln!(f, "{path}:{line}: {problem}")?;
                }
                match problems.len() - shown.len() {
                    0 => f.write_str("correct or remove them"),
                    more => write!(f, "and {more} more lines; correct or remove them"),
                }
            }
        }
    }
}

impl std::error::Error for BadRecording {}

/// How many bad lines are shown: a file of another kind altogether should not fill the terminal.
const SHOWN: usize = 20;
