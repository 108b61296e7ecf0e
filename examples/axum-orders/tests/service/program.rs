//! The program, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::database::Database;

/// A process of the program, which ends with this.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
}

impl Program {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_axum-orders"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("a line");
        let address = line
            .trim_end()
            .strip_prefix("listening on http://")
            .expect("an address");
        Self {
            address: address.parse().expect("an address"),
            child,
        }
    }

    pub fn gateway(listen: &str) -> Self {
        Self::start(&["gateway", "--listen", listen])
    }

    pub fn orders(database: &Database, gateway: SocketAddr) -> Self {
        let gateway = gateway.to_string();
        Self::start(&[
            "--listen",
            "127.0.0.1:0",
            "--database",
            &database.url,
            "--gateway",
            &gateway,
        ])
    }

    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Sends SIGTERM and waits; whether it ended well.
    pub fn stop(mut self) -> bool {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.expect("`kill` runs").success());
        self.child.wait().expect("it ends").success()
    }

    /// Sends a request; the response, head and body.
    pub fn send(&self, method: &str, target: &str, headers: &[String], body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for header in headers {
            head.push_str(&format!("{header}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response.replace("\r\n", "\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
