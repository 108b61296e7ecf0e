//! A process of the program.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use super::{Request, Response, get, post};

/// A server that runs until it is stopped or this is dropped.
pub struct Server {
    child: Child,
    stderr: Option<ChildStderr>,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_conformance-server"))
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let mut stderr = child.stderr.take().expect("it is piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("listening on http://");
        let Some(address) = address.and_then(|address| address.parse().ok()) else {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            panic!("{arguments:?}: instead of where it listens: {line:?} {text}");
        };
        Self {
            child,
            stderr: Some(stderr),
            address,
        }
    }

    pub fn send(&self, request: &Request) -> Response {
        request.send(self.address)
    }

    /// How often a handler of this process ran for a key of `alice`.
    pub fn runs(&self, key: &str) -> u64 {
        self.runs_of("alice", key)
    }

    pub fn runs_of(&self, principal: &str, key: &str) -> u64 {
        let escaped: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let response = self.send(&get(&format!("/runs?key={escaped}")).of(principal));
        response.answers(200).json()["runs"].as_u64().expect("a number")
    }

    /// How many orders there are.
    pub fn orders(&self) -> u64 {
        let response = self.send(&get("/orders/count"));
        response.answers(200).json()["count"].as_u64().expect("a number")
    }

    /// Moves the clock of leases and retentions.
    pub fn advance(&self, seconds: i64) {
        self.send(&post(&format!("/admin/clock?advance_s={seconds}")))
            .answers(200);
    }

    /// Ends it in the middle of whatever it does.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status();
        assert!(sent.expect("`kill` runs").success());
    }

    pub fn listens(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    /// Asks it to end; how it did, and what it said.
    pub fn stop(mut self) -> (ExitStatus, String) {
        self.signal("TERM");
        self.wait()
    }

    fn wait(&mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        (self.child.wait().expect("it ends"), text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
