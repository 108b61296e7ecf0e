//! HTTP/1.1 as it goes over the wire, so that odd bytes can be sent and seen.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request, by default of the principal `alice`.
#[derive(Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    principal: Option<String>,
    body: Vec<u8>,
    is_chunked: bool,
}

pub fn request(method: &str, target: &str) -> Request {
    Request {
        method: method.into(),
        target: target.into(),
        headers: Vec::new(),
        principal: Some("alice".into()),
        body: Vec::new(),
        is_chunked: false,
    }
}

pub fn get(target: &str) -> Request {
    request("GET", target)
}

/// With a body of JSON, which may be replaced.
pub fn post(target: &str) -> Request {
    request("POST", target).json("{\"amount\":1}")
}

impl Request {
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    /// The header, as these bytes.
    pub fn key(self, value: impl AsRef<[u8]>) -> Self {
        self.header("Idempotency-Key", value)
    }

    pub fn of(mut self, principal: &str) -> Self {
        self.principal = Some(principal.into());
        self
    }

    pub fn of_nobody(mut self) -> Self {
        self.principal = None;
        self
    }

    pub fn json(self, body: &str) -> Self {
        self.body("application/json", body)
    }

    pub fn body(mut self, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        self.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.body = body.as_ref().into();
        self.header("Content-Type", content_type)
    }

    pub fn chunked(mut self) -> Self {
        self.is_chunked = true;
        self
    }

    fn head(&self) -> Vec<u8> {
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nHost: orders\r\nConnection: close\r\n",
            self.method, self.target
        );
        match self.is_chunked {
            true => bytes.push_str("Transfer-Encoding: chunked\r\n"),
            false => bytes.push_str(&format!("Content-Length: {}\r\n", self.body.len())),
        }
        let mut bytes = bytes.into_bytes();
        let principal = self.principal.iter().map(|name| ("X-Principal", name.as_bytes()));
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), &**value));
        for (name, value) in principal.chain(headers) {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    fn content(&self) -> Vec<u8> {
        if !self.is_chunked {
            return self.body.clone();
        }
        let mut bytes = Vec::new();
        for chunk in self.body.chunks(1000) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// Sends the request, or the first `length` bytes of its body.
    pub fn begin(&self, address: SocketAddr, length: Option<usize>) -> TcpStream {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out can be set");
        let content = self.content();
        stream.write_all(&self.head()).expect("the head is sent");
        // A server may answer without reading a long body to its end.
        let _ = stream.write_all(&content[..length.unwrap_or(content.len())]);
        stream
    }

    pub fn send(&self, address: SocketAddr) -> Response {
        Response::read(self.begin(address, None)).expect("a response")
    }
}

/// A response, read to its end.
#[derive(Clone)]
pub struct Response {
    pub status: u16,
    /// In their order; names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(stream: TcpStream) -> std::io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let (status, headers) = Self::read_head(&mut reader)?;
        let find = |wanted: &str| {
            headers
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| &**value)
        };
        let mut body = Vec::new();
        if find("transfer-encoding") == Some("chunked") {
            loop {
                let length = usize::from_str_radix(line(&mut reader)?.trim(), 16).map_err(std::io::Error::other)?;
                let from = body.len();
                body.resize(from + length, 0);
                reader.read_exact(&mut body[from..])?;
                line(&mut reader)?;
                if length == 0 {
                    break;
                }
            }
        } else if let Some(length) = find("content-length") {
            body.resize(length.parse().map_err(std::io::Error::other)?, 0);
            reader.read_exact(&mut body)?;
        }
        Ok(Self { status, headers, body })
    }

    pub fn read_head(reader: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
        let start = line(reader)?;
        let status = start.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("no status line: {start:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = line(reader)?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => return Ok((status, headers)),
            }
        }
    }

    pub fn all(&self, wanted: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(name, _)| name == wanted);
        named.map(|(_, value)| value.as_str()).collect()
    }

    pub fn header(&self, wanted: &str) -> Option<&str> {
        self.all(wanted).first().copied()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the status, and that a handler made the response now.
    #[track_caller]
    pub fn answers(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("idempotent-replayed"), None, "{self:?}");
        self
    }

    /// Checks that this is `first` once more: status, bytes and marker.
    #[track_caller]
    pub fn replays(self, first: &Self) -> Self {
        assert_eq!(self.all("idempotent-replayed"), ["true"], "{self:?}");
        assert_eq!(self.status, first.status, "{self:?}");
        assert_eq!(self.body, first.body, "{self:?}");
        self
    }

    /// Checks all that a problem has to say.
    #[track_caller]
    pub fn refuses_as(self, slug: &str, status: u16) -> Self {
        assert_eq!(self.status, status, "{slug}: {self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        assert_eq!(self.header("idempotent-replayed"), None, "{self:?}");
        let body = self.json();
        let uri = body["type"].as_str().expect("a type");
        assert!(uri.starts_with("https://") && uri.ends_with(slug), "{uri}");
        assert_eq!(body["status"], status);
        assert_eq!(body["code"], slug.replace('-', "_"));
        assert_eq!(body["retryable"], matches!(status, 409 | 503), "{body}");
        for member in ["title", "detail"] {
            assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        }
        self
    }

    /// The `Retry-After` of whole seconds, which a problem repeats in its body.
    #[track_caller]
    pub fn retry_after(&self) -> u64 {
        let seconds = self.header("retry-after").and_then(|seconds| seconds.parse().ok());
        let seconds = seconds.unwrap_or_else(|| panic!("no whole seconds: {self:?}"));
        assert!(seconds >= 1, "{self:?}");
        if self.header("content-type") == Some("application/problem+json") {
            assert_eq!(self.json()["retry_after"], seconds, "{self:?}");
        }
        seconds
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {value}")?;
        }
        write!(
            f,
            "{}",
            &String::from_utf8_lossy(&self.body[..self.body.len().min(500)])
        )
    }
}

fn line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes
        .iter()
        .map(|byte| char::from(*byte))
        .collect::<String>()
        .trim_end()
        .to_owned())
}
