//! Response bodies of every kind.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use crate::answer::Asked;

#[derive(Deserialize)]
pub struct Length {
    #[serde(default)]
    n: usize,
    /// How long to wait before each piece but the first.
    #[serde(default)]
    ms: u64,
}

/// All values of a byte, again and again.
pub async fn bytes(Asked(Length { n, .. }): Asked<Length>) -> Response {
    of_type(OCTETS, (0..=u8::MAX).cycle().take(n).collect::<Vec<u8>>())
}

/// A body with a length, to be longer than what is kept.
pub async fn large(Asked(Length { n, .. }): Asked<Length>) -> Response {
    of_type(OCTETS, vec![b'x'; n])
}

/// Server-sent events; their end is not announced.
pub async fn stream(Asked(length): Asked<Length>) -> Response {
    of_type("text/event-stream", pieces(length))
}

/// Any other body without a length.
pub async fn chunks(Asked(length): Asked<Length>) -> Response {
    of_type(OCTETS, pieces(length))
}

/// `n` bytes in pieces; those of a stream are comments of server-sent events.
fn pieces(Length { n, ms }: Length) -> Body {
    let pieces = stream::unfold(0, move |sent| async move {
        if sent >= n {
            return None;
        }
        if sent > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let length = PIECE.min(n - sent);
        let piece = Bytes::from_iter(b":..............\n".iter().copied().cycle().take(length));
        Some((Ok::<_, Infallible>(piece), sent + length))
    });
    Body::from_stream(pieces)
}

fn of_type(content_type: &'static str, body: impl Into<Body>) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}

const OCTETS: &str = "application/octet-stream";
const PIECE: usize = 1024;
