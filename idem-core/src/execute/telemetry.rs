//! What a subscriber of `tracing` sees: one span for a call, and how far the protocol has come.

use tracing::Span;
use tracing::field::Empty;

use crate::key::IdempotencyKey;

/// The span of one call. Keys appear with 8 digits; inputs and results not at all.
pub(crate) fn span(action: &str, key: &IdempotencyKey) -> Span {
    let key = key.short();
    tracing::debug_span!("idempotency.call", action, key, outcome = Empty, attempt = Empty)
}

/// Tells a subscriber how far the protocol has come. The event is sent in the caller's task, so a
/// test that stops the process in it stops the process at exactly this point.
pub(crate) fn point(name: &'static str) {
    tracing::trace!(target: "idem::protocol", point = name);
}

/// Marks that an outcome is durable, and that its caller does not know yet.
pub(crate) fn durable(name: &'static str) {
    point(name);
    #[cfg(any(test, feature = "testing"))]
    crate::testing::durable();
}
