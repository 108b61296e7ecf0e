//! An HTTP client that sends what it is told to, over a socket of its own for each request.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A request that is being put together.
#[derive(Clone)]
pub struct Ask {
    address: SocketAddr,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    pub fn new(address: SocketAddr, method: Method, path: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert("x-principal", HeaderValue::from_static("ada"));
        Self {
            address,
            method,
            path: path.to_owned(),
            headers,
            body: Bytes::new(),
        }
    }

    pub fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    pub fn principal(self, principal: &str) -> Self {
        self.header("x-principal", principal)
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::try_from(name).unwrap();
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.headers.insert(name, value);
        self
    }

    pub fn header_line(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).unwrap();
        self.headers.append(name, HeaderValue::try_from(value).unwrap());
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub fn json(self, body: impl Into<String>) -> Self {
        self.body("application/json", body.into())
    }

    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    pub async fn send(self) -> Reply {
        let what = format!("{} {}", self.method, self.path);
        tokio::time::timeout(PATIENCE, self.try_send())
            .await
            .unwrap_or_else(|_| panic!("no answer to {what} within {PATIENCE:?}"))
            .unwrap_or_else(|error| panic!("no answer to {what}: {error}"))
    }

    pub async fn try_send(self) -> Result<Reply, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.path.parse()?;
        *request.headers_mut() = self.headers;
        request.headers_mut().insert("host", HeaderValue::from_static("test"));
        let (parts, mut body) = sender.send_request(request).await?.into_parts();
        let (mut bytes, mut broke_off) = (Vec::new(), false);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        bytes.extend_from_slice(&data);
                    }
                }
                Err(_) => {
                    broke_off = true;
                    break;
                }
            }
        }
        drop(sender);
        connection.abort();
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body: bytes.into(),
            broke_off,
        })
    }

    /// Sends, and goes away after `time` whatever has come back.
    pub async fn give_up_after(self, time: Duration) {
        let _ = tokio::time::timeout(time, self.try_send()).await;
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub broke_off: bool,
}

impl Reply {
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    #[track_caller]
    pub fn fresh(&self) -> &Self {
        assert!(!self.headers.contains_key("idempotent-replayed"), "{self:?}");
        self
    }

    #[track_caller]
    pub fn replayed(&self) -> &Self {
        assert_eq!(self.header("idempotent-replayed"), Some("true"), "{self:?}");
        self
    }

    /// That it is the layer's own answer of this kind.
    #[track_caller]
    pub fn problem(&self, slug: &str, status: u16) -> Value {
        self.is(status).fresh();
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        let problem = self.value();
        let ends_in_slug = problem["type"].as_str().is_some_and(|uri| {
            uri.starts_with("https://") && uri.ends_with(slug) && !uri.ends_with(&format!("-{slug}"))
        });
        assert!(ends_in_slug, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["code"], slug.replace('-', "_"));
        assert!(problem["title"].is_string() && problem["detail"].is_string() && problem["retryable"].is_boolean());
        problem
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
