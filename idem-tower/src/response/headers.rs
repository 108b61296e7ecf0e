//! Which response headers are kept.
//!
//! What describes the stored content is; what belongs to one exchange, one connection or one caller is not, and is
//! produced anew, or not at all, for a replay.

use http::HeaderName;
use http::header::{self, *};

/// Kept by every service.
pub(crate) const KEPT: [HeaderName; 13] = [
    CONTENT_TYPE,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_DISPOSITION,
    CONTENT_LOCATION,
    LOCATION,
    ETAG,
    LAST_MODIFIED,
    LINK,
    VARY,
    CACHE_CONTROL,
    EXPIRES,
    header::ALLOW,
];

/// Whether a service cannot choose to keep it: secrets of the first caller, what belongs to its connection or exchange, and
/// what the layer itself writes.
pub(crate) fn is_never_kept(name: &HeaderName) -> bool {
    const NEVER: [&str; 27] = [
        "age",
        "authentication-info",
        "authorization",
        "connection",
        "content-length",
        "cookie",
        "date",
        "idempotency-key",
        "idempotent-replayed",
        "keep-alive",
        "proxy-connection",
        "request-id",
        "retry-after",
        "server-timing",
        "set-cookie",
        "set-cookie2",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
        "x-correlation-id",
        "x-request-id",
        "x-trace-id",
        "b3",
    ];
    const NEVER_BEGINNING: [&str; 6] = [
        "access-control-",
        "proxy-",
        "ratelimit",
        "x-ratelimit",
        "x-rate-limit",
        "x-b3-",
    ];
    let name = name.as_str();
    NEVER.contains(&name) || NEVER_BEGINNING.iter().any(|begin| name.starts_with(begin))
}
