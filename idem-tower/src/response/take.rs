use std::collections::VecDeque;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;

use super::body::{BoxError, in_bytes};

/// A whole body.
pub(crate) struct Whole {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

/// What came of reading a body ahead.
pub(crate) enum Taken<B> {
    Whole(Whole),
    /// It is longer than the limit: what was read, and the rest.
    Longer(VecDeque<Frame<Bytes>>, Pin<Box<B>>),
    /// It broke off after this.
    Broken(VecDeque<Frame<Bytes>>, BoxError),
}

/// Reads a body of `limit` bytes at most.
///
/// # Cancel safety
///
/// What was read is lost.
pub(crate) async fn take<B>(body: B, limit: usize) -> Taken<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    let mut body = Box::pin(body);
    let mut frames = VecDeque::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => in_bytes(frame),
            Err(error) => return Taken::Broken(frames, error.into()),
        };
        length += frame.data_ref().map_or(0, Bytes::len);
        frames.push_back(frame);
        if length > limit {
            return Taken::Longer(frames, body);
        }
    }
    Taken::Whole(joined(frames, length))
}

/// Puts frames together. One piece is not copied.
pub(crate) fn joined(frames: VecDeque<Frame<Bytes>>, length: usize) -> Whole {
    let mut whole = Whole {
        bytes: Bytes::new(),
        trailers: None,
    };
    let mut pieces = BytesMut::new();
    for frame in frames {
        match frame.into_data() {
            Ok(data) if data.len() == length => whole.bytes = data,
            Ok(data) => {
                if pieces.is_empty() {
                    pieces.reserve(length);
                }
                pieces.extend_from_slice(&data);
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    whole.trailers.get_or_insert_default().extend(trailers);
                }
            }
        }
    }
    if !pieces.is_empty() {
        whole.bytes = pieces.freeze();
    }
    whole
}

/// Whether a response is of a kind that has no end.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let is_stream = |value: &HeaderValue| {
        let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
    };
    headers.get(CONTENT_TYPE).is_some_and(is_stream)
}
