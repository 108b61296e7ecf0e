//! What a subscriber of `tracing` sees: one span for a call, and how far the protocol has come.

use tracing::Span;
use tracing::field::Empty;

use super::Done;
use super::prepared::Prepared;
use crate::error::{Error, ErrorKind};

/// The span of one call. Keys appear with 8 digits; inputs and results not at all.
pub(crate) fn span(call: &Prepared) -> Span {
    let key = call.key().short();
    tracing::debug_span!(
        "idempotency.call",
        action = call.action,
        key,
        outcome = Empty,
        attempt = Empty
    )
}

/// Notes on the span how the call ended.
pub(crate) fn conclude<T>(span: &Span, waited: bool, result: &Result<Done<T>, Error>) {
    let outcome = match result {
        Ok(Done::Executed(_)) => "executed",
        Ok(Done::Replayed(_)) if waited => "waited",
        Ok(Done::Replayed(_)) => "replayed",
        Err(error) => match error.kind() {
            ErrorKind::InFlight => "in_flight",
            ErrorKind::Mismatch => "mismatch",
            ErrorKind::Declined => "declined",
            ErrorKind::OutcomeUnknown => "unknown",
            ErrorKind::Revoked => "revoked",
            ErrorKind::Store => "store_error",
            _ => "failed",
        },
    };
    span.record("outcome", outcome);
}

/// Tells a subscriber how far the protocol has come. The event is sent in the caller's task, so a
/// test that stops the process in it stops the process at exactly this point.
pub(crate) fn point(name: &'static str) {
    tracing::trace!(target: "idem::protocol", point = name);
}
