//! What a gRPC response says of its effect.
//!
//! HTTP says 200 for a failure too: what counts is `grpc-status`, in the headers of a response without a message, else in
//! the trailers, which are known when the body has been read.

use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Response};

use crate::response::{BoxError, Content, ResponseBody, Taken, Whole, take};
use crate::status::Verdict;

/// Whether a request is one of gRPC: `application/grpc`, also with a format (`+proto`) or parameters.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return false;
    };
    let essence = value
        .as_bytes()
        .split(|byte| b";+".contains(byte))
        .next()
        .unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/grpc")
}

/// Whether a header is part of a gRPC status, and so of what is kept.
pub(crate) fn is_status(name: &HeaderName) -> bool {
    [STATUS, "grpc-message", "grpc-status-details-bin"].contains(&name.as_str())
}

const STATUS: &str = "grpc-status";

/// Judges a status. One that is missing is UNKNOWN, as clients take it.
fn verdict(status: Option<&HeaderValue>, marks: &Extensions) -> Verdict {
    if let Some(verdict) = Verdict::of_marks(marks) {
        return verdict;
    }
    match status.map(HeaderValue::as_bytes) {
        Some(b"0") => Verdict::Committed,
        // INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, OUT_OF_RANGE.
        Some(b"3" | b"5" | b"6" | b"9" | b"11") => Verdict::Declined,
        // PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED.
        Some(b"7" | b"8" | b"12" | b"16") => Verdict::NothingHappened,
        _ => Verdict::Failed,
    }
}

/// A response that was read as far as its status.
pub(crate) struct Judged<R> {
    pub(crate) verdict: Verdict,
    pub(crate) content: Content,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) response: Response<ResponseBody<R>>,
}

/// Reads a response of `limit` bytes at most, and judges it by its status.
///
/// A message over the limit is taken for a success whose response is not kept: a failure has no message of that length, and
/// an effect that may have happened is not to be had again.
pub(crate) async fn judge<R>(response: Response<R>, limit: usize) -> Judged<R>
where
    R: http_body::Body,
    R::Error: Into<BoxError>,
{
    let (parts, body) = response.into_parts();
    let (status, content, trailers, body) = match take(body, limit).await {
        Taken::Whole(Whole { bytes, trailers }) => {
            let status = parts.headers.get(STATUS);
            let status = status.or_else(|| trailers.as_ref()?.get(STATUS)).cloned();
            let content = Content::of(&bytes);
            (status, content, trailers.clone(), ResponseBody::whole(bytes, trailers))
        }
        Taken::Longer(read, rest) => {
            let status = parts.headers.get(STATUS).cloned();
            let status = status.or(Some(HeaderValue::from_static("0")));
            (status, Content::NotKept, None, ResponseBody::resumed(read, Ok(rest)))
        }
        Taken::Broken(read, error) => {
            let status = parts.headers.get(STATUS).cloned();
            (status, Content::NotKept, None, ResponseBody::resumed(read, Err(error)))
        }
    };
    Judged {
        verdict: verdict(status.as_ref(), &parts.extensions),
        content,
        trailers,
        response: Response::from_parts(parts, body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::EffectCommitted;

    fn request(content_type: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers
    }

    #[test]
    fn requests_of_grpc_are_told_from_others() {
        for yes in [
            "application/grpc",
            "application/grpc+proto",
            "Application/gRPC; charset=x",
        ] {
            assert!(is_grpc(&request(yes)), "{yes}");
        }
        for no in ["application/grpc-web", "application/json", "application/grpcx", ""] {
            assert!(!is_grpc(&request(no)), "{no}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }

    #[test]
    fn every_code_has_its_verdict() {
        let none = Extensions::new();
        for code in 0..=17 {
            let value = HeaderValue::from(code);
            let expected = match code {
                0 => Verdict::Committed,
                3 | 5 | 6 | 9 | 11 => Verdict::Declined,
                7 | 8 | 12 | 16 => Verdict::NothingHappened,
                _ => Verdict::Failed,
            };
            assert_eq!(verdict(Some(&value), &none), expected, "{code}");
        }
        assert_eq!(verdict(None, &none), Verdict::Failed);
        let mut marked = Extensions::new();
        marked.insert(EffectCommitted);
        assert_eq!(verdict(Some(&HeaderValue::from(13)), &marked), Verdict::Committed);
    }
}
