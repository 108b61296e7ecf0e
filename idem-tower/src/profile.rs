//! Whose rules a service answers by.

use std::time::Duration;

use http::StatusCode;
use serde::Serialize;

use crate::problem::{Problem, ProblemKind, Rendered};
use crate::status::{Disposition, kept_by_default, kept_by_stripe};

/// Whose rules a service answers by: a set of settings that belong together.
///
/// | | [`Ietf`](Self::Ietf) | [`StripeV1`](Self::StripeV1) | [`Acp`](Self::Acp) |
/// |---|---|---|---|
/// | key missing | 400 | passes | 400 |
/// | key invalid | 400 | 400 | 400 |
/// | another request | 422 | 400 | 422 |
/// | in flight | 409 | 409 | 409 |
/// | expired | 422 | a new request | a new request |
/// | store down | 503 | 503 | 503 |
/// | stored | 2xx, 3xx, 4xx but 401 403 407 408 421 425 429 | all but 401 403 407 408 409 421 425 429 503 | as `Ietf` |
/// | scope | principal | principal | principal and operation |
/// | kept for | 90 days | 24 hours | 24 hours |
/// | ledger | yes | no | no |
/// | errors | `application/problem+json` | `application/json`, `{"error":{..}}` | `application/json`, `{"type","code","message"}` |
/// | key in the response | no | yes | yes |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// draft-ietf-httpapi-idempotency-key-header-07 with problem details (RFC 9457).
    #[default]
    Ietf,
    /// As version 1 of Stripe's API behaves.
    StripeV1,
    /// Agentic Commerce Protocol, 2026-04-17.
    Acp,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Profile {
    pub(crate) fn is_key_required(self) -> bool {
        self != Self::StripeV1
    }

    pub(crate) fn scopes_by_operation(self) -> bool {
        self == Self::Acp
    }

    pub(crate) fn has_ledger(self) -> bool {
        self == Self::Ietf
    }

    pub(crate) fn echoes_key(self) -> bool {
        self != Self::Ietf
    }

    pub(crate) fn retention(self) -> Duration {
        match self {
            Self::Ietf => 90 * DAY,
            Self::StripeV1 | Self::Acp => DAY,
        }
    }

    pub(crate) fn disposition(self, status: StatusCode) -> Disposition {
        match self {
            Self::Ietf | Self::Acp => kept_by_default(status),
            Self::StripeV1 => kept_by_stripe(status),
        }
    }

    pub(crate) fn status(self, kind: ProblemKind) -> StatusCode {
        match (self, kind) {
            (Self::StripeV1, ProblemKind::KeyReused) => StatusCode::BAD_REQUEST,
            _ => kind.status(),
        }
    }

    pub(crate) fn render(self, problem: &Problem) -> Rendered {
        match self {
            Self::Ietf => problem.to_json(),
            Self::StripeV1 => stripe(problem),
            Self::Acp => acp(problem),
        }
    }
}

fn stripe(problem: &Problem) -> Rendered {
    #[derive(Serialize)]
    struct Envelope<'a> {
        error: Error<'a>,
    }
    #[derive(Serialize)]
    struct Error<'a> {
        r#type: &'a str,
        code: &'a str,
        message: &'a str,
    }
    let own = problem.code();
    let (r#type, code) = match problem.kind() {
        Some(ProblemKind::KeyReused) => ("idempotency_error", own.as_str()),
        Some(ProblemKind::InFlight) => ("idempotency_error", "idempotency_key_in_use"),
        Some(ProblemKind::StoreUnavailable | ProblemKind::OutcomeUnknown) | None => ("api_error", own.as_str()),
        Some(_) => ("invalid_request_error", own.as_str()),
    };
    let message = problem.detail();
    Rendered::json(
        "application/json",
        &Envelope {
            error: Error { r#type, code, message },
        },
    )
}

fn acp(problem: &Problem) -> Rendered {
    #[derive(Serialize)]
    struct Error<'a> {
        r#type: &'a str,
        code: &'a str,
        message: &'a str,
    }
    let own = format!("idempotency_{}", problem.code());
    let (r#type, code) = match problem.kind() {
        Some(ProblemKind::KeyMissing) => ("invalid_request", "idempotency_key_required"),
        Some(ProblemKind::KeyReused) => ("invalid_request", "idempotency_conflict"),
        Some(ProblemKind::InFlight) => ("invalid_request", "idempotency_in_flight"),
        Some(ProblemKind::StoreUnavailable | ProblemKind::OutcomeUnknown) => ("service_unavailable", own.as_str()),
        Some(_) => ("invalid_request", own.as_str()),
        None => ("processing_error", "internal"),
    };
    let message = problem.detail();
    Rendered::json("application/json", &Error { r#type, code, message })
}
