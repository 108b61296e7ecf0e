//! What the layer answers where it does not replay.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LINK, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// Why a request was not served, as clients tell it apart.
///
/// What each status asks of the client: 400, correct the request · 409, the same request with the same key, later · 413,
/// send less · 422, this key can never serve this request · 503, the same request with the same key, later.
///
/// The `type` of a problem points to its section here.
///
/// ### key-missing
///
/// Status 400. The route requires a key and the request has none. Nothing was done. Send the request with a key of your choice, such
/// as a UUID, and keep it for repeats.
///
/// ### key-invalid
///
/// Status 400. The key cannot be read, or the header is there more than once; on a route that derives keys, the body cannot be read
/// or names no effect. Nothing was done. The detail says what is wrong: correct it. Another attempt with the same text gets
/// the same answer.
///
/// ### in-flight
///
/// 409, with `Retry-After`. An earlier request under this key is being worked on, or its server died and the lease of its claim
/// has not ended. Wait for the stated time, then send the same request with the same key: its response will be the answer.
///
/// ### body-too-large
///
/// Status 413. The body is longer than the service reads. Nothing was done, and the key is free. Send less.
///
/// ### key-reused
///
/// Status 422. The key belongs to another request: method, path, query, content type or body differ, or on a route that derives
/// keys, a field that is payload. Nothing was done. To repeat the earlier request, send it as it was; for this one, use a new
/// key.
///
/// ### key-expired
///
/// Status 422. The request was done under this key, so long ago that its response is not kept any more. It was not done again. Look
/// its result up; a new key does it once more.
///
/// ### already-executed
///
/// Status 422. What the request asks for may happen once and was done under another key. It was not done again, and no key will do
/// it. Look its result up.
///
/// ### revoked
///
/// Status 422. The request was done under this key, and somebody has undone it since. It was not done again. A new key does it once
/// more.
///
/// ### result-unavailable
///
/// Status 422. The request was done under this key, and its response was not kept: it was too long, had no end, could not be read
/// back, or the service keeps none. It was not done again. Look its result up.
///
/// ### store-unavailable
///
/// 503, with `Retry-After`. The store did not answer in time, or undid the transaction. The handler did not run or was rolled
/// back; where the answer to a commit was lost, the next attempt finds out. Send the same request with the same key after the
/// stated time: it will not be done twice.
///
/// ### outcome-unknown
///
/// 503, with `Retry-After`. An earlier attempt ended without telling whether it had its effect, and the service does not run
/// it again on a guess. Send the same request with the same key later: when the outcome is known it is the answer. A new key
/// may do it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// 400: the route requires a key and the request has none.
    KeyMissing,
    /// 400: the key, or the body that it is derived from, cannot be read.
    KeyInvalid,
    /// 409: the first request under this key is being worked on.
    InFlight,
    /// 413: the body is longer than the layer takes.
    BodyTooLarge,
    /// 422: the key belongs to another request.
    KeyReused,
    /// 422: the request was done, so long ago that its answer is not kept any more.
    KeyExpired,
    /// 422: what is asked for was done under another key.
    AlreadyExecuted,
    /// 422: the request was done and undone.
    Revoked,
    /// 422: the request was done, and its answer was not kept.
    ResultUnavailable,
    /// 503: the store did not answer; the handler did not run, or was rolled back.
    StoreUnavailable,
    /// 503: it is not known whether an earlier attempt had its effect.
    OutcomeUnknown,
}

impl ProblemKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::InFlight,
        Self::BodyTooLarge,
        Self::KeyReused,
        Self::KeyExpired,
        Self::AlreadyExecuted,
        Self::Revoked,
        Self::ResultUnavailable,
        Self::StoreUnavailable,
        Self::OutcomeUnknown,
    ];

    /// The last part of the problem's type: `key-reused`.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::KeyMissing => "key-missing",
            Self::KeyInvalid => "key-invalid",
            Self::InFlight => "in-flight",
            Self::BodyTooLarge => "body-too-large",
            Self::KeyReused => "key-reused",
            Self::KeyExpired => "key-expired",
            Self::AlreadyExecuted => "already-executed",
            Self::Revoked => "revoked",
            Self::ResultUnavailable => "result-unavailable",
            Self::StoreUnavailable => "store-unavailable",
            Self::OutcomeUnknown => "outcome-unknown",
        }
    }

    /// The status, unless the profile has another.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyInvalid => StatusCode::BAD_REQUEST,
            Self::InFlight => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::KeyReused | Self::KeyExpired | Self::AlreadyExecuted | Self::Revoked | Self::ResultUnavailable => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::StoreUnavailable | Self::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The same words for every occurrence.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::KeyMissing => "An idempotency key is required",
            Self::KeyInvalid => "The idempotency key is invalid",
            Self::InFlight => "A request with this idempotency key is in progress",
            Self::BodyTooLarge => "The request body is too large",
            Self::KeyReused => "The idempotency key belongs to another request",
            Self::KeyExpired => "The idempotency key has expired",
            Self::AlreadyExecuted => "This has been done under another key",
            Self::Revoked => "This has been done and undone",
            Self::ResultUnavailable => "This has been done, and its response is not available",
            Self::StoreUnavailable => "Idempotency cannot be guaranteed at the moment",
            Self::OutcomeUnknown => "It is not known whether this has been done",
        }
    }

    /// Whether the same request with the same key may succeed later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::InFlight | Self::StoreUnavailable | Self::OutcomeUnknown)
    }

    /// What happened and what to do, where nothing more is known.
    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::KeyMissing => {
                "Send a key of your choice, such as a UUID, and the same one again if you repeat the request."
            }
            Self::KeyInvalid => "The key cannot be read. Send a UUID.",
            Self::InFlight => {
                "Repeat the same request with the same key after the stated time; its response will be the answer."
            }
            Self::BodyTooLarge => "The body is longer than this service reads. Nothing was done.",
            Self::KeyReused => {
                "The key was used for a request with another method, path, query, content type or body. Nothing was done. Repeat that request as it was, or use a new key for this one."
            }
            Self::KeyExpired => {
                "The request was done under this key, and its response is not kept any more. It was not done again. Look up its result, or use a new key to do it once more."
            }
            Self::AlreadyExecuted => {
                "What the request asks for may happen once and was done under another key. It was not done again. Look up its result."
            }
            Self::Revoked => {
                "The request was done under this key and was undone since. It was not done again. Use a new key to do it once more."
            }
            Self::ResultUnavailable => {
                "The request was done under this key, and its response was not kept. It was not done again. Look up its result."
            }
            Self::StoreUnavailable => {
                "The record of requests cannot be reached or did not take effect. Repeat the same request with the same key: it will not be done twice."
            }
            Self::OutcomeUnknown => {
                "An earlier attempt ended without telling whether it had its effect. Repeat the same request with the same key later, or ask the service's operator; a new key may do it twice."
            }
        }
    }
}

/// One answer of the layer, to be rendered.
///
/// By default it becomes `application/problem+json` (RFC 9457) with the members `type`, `title`, `status`, `detail`,
/// `code`, `retryable` and, where there is one, `retry_after`. It never holds anything that is stored.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Why; `None` where the service itself is at fault, which is status 500, and for a request that broke off, 400.
    pub(crate) kind: Option<ProblemKind>,
    pub(crate) status: StatusCode,
    pub(crate) detail: Cow<'static, str>,
    pub(crate) retry_after: Option<u64>,
    pub(crate) base: Cow<'static, str>,
}

impl Problem {
    /// Why the request was not served; `None` where the service itself is at fault (500), and for a body that broke off (400).
    #[must_use]
    pub fn kind(&self) -> Option<ProblemKind> {
        self.kind
    }

    /// The status of the response. A renderer cannot change it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// An absolute URI that ends in the slug of the kind, or `about:blank`.
    #[must_use]
    pub fn type_uri(&self) -> Cow<'static, str> {
        match self.kind {
            Some(kind) => format!("{}{}", self.base, kind.slug()).into(),
            None => "about:blank".into(),
        }
    }

    /// The same words for every problem of the kind.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self.kind {
            Some(kind) => kind.title(),
            None => self.status.canonical_reason().unwrap_or("Error"),
        }
    }

    /// What happened and what the client can do about it.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The slug in snake case: `key_reused`; without a kind `internal`, or `bad_request` where the request broke off.
    #[must_use]
    pub fn code(&self) -> String {
        match self.kind {
            Some(kind) => kind.slug().replace('-', "_"),
            None if self.status.is_server_error() => "internal".to_owned(),
            None => "bad_request".to_owned(),
        }
    }

    /// Whether the same request with the same key may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind.is_some_and(ProblemKind::is_retryable)
    }

    /// After how many seconds the client may repeat the request.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The default form.
    pub(crate) fn to_json(&self) -> Rendered {
        #[derive(Serialize)]
        struct Members<'a> {
            r#type: &'a str,
            title: &'a str,
            status: u16,
            detail: &'a str,
            code: &'a str,
            retryable: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_after: Option<u64>,
        }
        let members = Members {
            r#type: &self.type_uri(),
            title: self.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: &self.code(),
            retryable: self.is_retryable(),
            retry_after: self.retry_after,
        };
        Rendered::json("application/problem+json", &members)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title(), self.detail)
    }
}

/// The media type and body of a problem.
#[derive(Clone, Debug)]
pub struct Rendered {
    content_type: HeaderValue,
    body: Bytes,
}

impl Rendered {
    /// A body of this media type.
    pub fn new(content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        Self {
            content_type,
            body: body.into(),
        }
    }

    /// A JSON body.
    pub fn json<T: Serialize + ?Sized>(content_type: &'static str, value: &T) -> Self {
        // What serde cannot write leaves an empty object, which has the status to explain it.
        let body = serde_json::to_vec(value).unwrap_or_else(|_| b"{}".to_vec());
        Self::new(HeaderValue::from_static(content_type), body)
    }

    /// The response for `problem`, with the headers that no renderer leaves out.
    pub(crate) fn into_response<B: From<Bytes>>(self, problem: &Problem, docs: Option<&HeaderValue>) -> Response<B> {
        let mut response = Response::new(B::from(self.body));
        *response.status_mut() = problem.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = problem.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let (Some(ProblemKind::KeyMissing), Some(docs)) = (problem.kind, docs) {
            headers.insert(LINK, docs.clone());
        }
        response
    }
}
