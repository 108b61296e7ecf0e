//! From what the executor says to what the client gets.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use idem_core::{Error, ErrorKind, IdempotencyKey};

use crate::config::Config;
use crate::problem::ProblemKind;
use crate::response::{ResponseBody, StoredResponse};

/// Words the answers of one service.
pub(crate) struct Answers<'c>(pub(crate) &'c Config);

impl Answers<'_> {
    /// The recorded response, marked as such.
    pub(crate) fn replay<R>(&self, stored: StoredResponse) -> Response<ResponseBody<R>> {
        let Some((response, trailers)) = stored.into_response() else {
            return self.0.problem(ProblemKind::ResultUnavailable);
        };
        let mut response = response.map(|body: Bytes| ResponseBody::whole(body, trailers));
        response
            .headers_mut()
            .insert(self.0.replay_marker.clone(), HeaderValue::from_static("true"));
        response
    }

    /// What a client is told whose request was not run.
    pub(crate) fn refusal<R>(&self, error: Error, key: &IdempotencyKey) -> Response<ResponseBody<R>> {
        let kind = match error.kind() {
            ErrorKind::Declined => {
                return match error.declined::<StoredResponse>() {
                    Some(stored) => self.replay(stored),
                    None => self.0.problem(ProblemKind::ResultUnavailable),
                };
            }
            ErrorKind::InFlight => {
                let seconds = whole_seconds(error.retry_after());
                let kind = ProblemKind::InFlight;
                return self.0.problem_with(kind, kind.detail().into(), Some(seconds));
            }
            ErrorKind::Mismatch => ProblemKind::KeyReused,
            ErrorKind::AlreadyExecuted => match error.entry() {
                Some(entry) if entry.key != key.as_str() => ProblemKind::AlreadyExecuted,
                _ => ProblemKind::KeyExpired,
            },
            ErrorKind::Revoked => ProblemKind::Revoked,
            ErrorKind::ResultUnavailable => ProblemKind::ResultUnavailable,
            ErrorKind::InvalidKey => {
                let detail = format!("{error}. Nothing was done; correct the request.");
                return self.0.problem_with(ProblemKind::KeyInvalid, detail.into(), None);
            }
            ErrorKind::OutcomeUnknown => {
                return self.lost();
            }
            ErrorKind::Store | ErrorKind::Schema | ErrorKind::LostClaim => return self.store_unavailable(&error),
            ErrorKind::Effect if error.is_retryable() => return self.store_unavailable(&error),
            _ => return self.at_fault(&error),
        };
        self.0.problem(kind)
    }

    /// The store did not answer, or undid what was done.
    pub(crate) fn store_unavailable<R>(&self, error: &Error) -> Response<ResponseBody<R>> {
        tracing::warn!(error = %error, cause = cause(error), "a request with a key could not be served");
        let kind = ProblemKind::StoreUnavailable;
        self.0.problem_with(kind, kind.detail().into(), Some(1))
    }

    /// The claim was lost to another attempt, and nothing is on record.
    pub(crate) fn lost<R>(&self) -> Response<ResponseBody<R>> {
        let kind = ProblemKind::OutcomeUnknown;
        self.0.problem_with(kind, kind.detail().into(), Some(UNKNOWN_ASK_AGAIN))
    }

    /// Something is wrong with the service itself.
    pub(crate) fn at_fault<R>(&self, error: &Error) -> Response<ResponseBody<R>> {
        tracing::error!(error = %error, cause = cause(error), "a request with a key could not be served");
        self.internal("The service cannot handle the request safely. Nothing was recorded; its log says why.")
    }

    /// The handler panicked, or did what it must not.
    pub(crate) fn internal<R>(&self, detail: &'static str) -> Response<ResponseBody<R>> {
        self.0
            .render(&self.0.fault_of(StatusCode::INTERNAL_SERVER_ERROR, detail))
    }

    /// Marks a response that was made without protection.
    pub(crate) fn failed_open<R>(&self, mut response: Response<R>) -> Response<R> {
        response
            .headers_mut()
            .insert(FAILED_OPEN, HeaderValue::from_static("true"));
        response
    }
}

const FAILED_OPEN: HeaderName = crate::config::FAILED_OPEN;

/// How soon a client may ask for an outcome that somebody has to find out first, in seconds.
const UNKNOWN_ASK_AGAIN: u64 = 30;

/// Whole seconds that are not longer than the time, but at least one.
fn whole_seconds(time: Option<Duration>) -> u64 {
    time.map_or(1, |time| time.as_secs().max(1))
}

fn cause(error: &Error) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

/// Whether the effect stands and only its record does not: the first caller gets its response all the same.
pub(crate) fn is_unrecorded(error: &Error) -> bool {
    error.kind() == ErrorKind::OutcomeUnknown && error.source().is_some()
}
