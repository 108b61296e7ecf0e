//! The airline of `--mode leased` from the outside: the process, and what is asked of it.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use idem::{Effect, EffectError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::failure::Failure;
use crate::service::{Order, Request, Response};

/// Where an airline listens on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Airline {
    pub port: u16,
}

impl Airline {
    /// The outside effect: asks the airline to carry out an order under the downstream key of the effect.
    ///
    /// That nobody listens, and that the tool says no, are the errors which say that nothing happened.
    pub async fn carry_out(self, effect: &Effect, order: Order) -> Result<String, EffectError> {
        let stream = self.connect().await.map_err(EffectError::nothing_happened)?;
        let order = Order {
            downstream_key: effect.downstream_key().to_string(),
            ..order
        };
        match ask(stream, &Request::CarryOut(order)).await? {
            Response::Done { number, result } => {
                effect.reference("airline", number.to_string());
                Ok(result)
            }
            Response::Refused(why) => Err(EffectError::nothing_happened(ToolFailed(why))),
            Response::Broken(why) => Err(std::io::Error::other(why).into()),
            Response::Report(_) => Err(std::io::Error::other(ODD).into()),
        }
    }

    /// How often each key was carried out, by the airline's own books.
    pub async fn report(self) -> Result<BTreeMap<String, usize>, Failure> {
        let stream = self.connect().await.map_err(Failure::process)?;
        match ask(stream, &Request::Report).await.map_err(Failure::process)? {
            Response::Report(counts) => Ok(counts),
            _ => Err(Failure::process(ODD)),
        }
    }

    async fn connect(self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port)).await
    }
}

async fn ask(stream: TcpStream, request: &Request) -> std::io::Result<Response> {
    let mut stream = BufReader::new(stream);
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    // A place to be killed at: the request is on its way, and nobody here knows what becomes of it.
    tracing::trace!(target: "agent_replay", point = "sent");
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok(serde_json::from_str(&answer)?)
}

/// The failure that the tool answered when the call was recorded.
#[derive(Debug)]
pub struct ToolFailed(pub String);

impl fmt::Display for ToolFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ToolFailed {}

/// A running airline. It is no part of what is killed, and ends with this value.
pub struct Service {
    pub airline: Airline,
    pub file: PathBuf,
    _process: Child,
}

impl Service {
    /// Starts an airline whose books are in `file`.
    pub async fn start(file: &Path) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::process)?;
        let mut process = Command::new(program)
            .arg("--serve-airline")
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(Failure::process)?;
        // It was asked for as a pipe.
        let mut stdout = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).await.map_err(Failure::process)?;
        let Ok(port) = line.trim_end().parse() else {
            // It has said why.
            return Err(Failure::Child(process.wait().await.map_err(Failure::process)?));
        };
        Ok(Self {
            airline: Airline { port },
            file: file.to_owned(),
            _process: process,
        })
    }
}

const ODD: &str = "the airline answered something else";
