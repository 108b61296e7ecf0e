//! What becomes of the record, by the handler's response.

use http::{Extensions, Response, StatusCode};
use http_body::Body;

/// What a response says about its effect, by its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Disposition {
    /// Repeats get this response.
    Store,
    /// Nothing happened, and nothing is kept: repeats run.
    Release,
    /// The handler failed, and outside of a transaction it is not known what happened.
    Fail,
}

/// Stores 2xx, 3xx and what a repeat would be told as well; not what depends on credentials, time or load.
pub(crate) fn kept_by_default(status: StatusCode) -> Disposition {
    match status.as_u16() {
        401 | 403 | 407 | 408 | 421 | 425 | 429 => Disposition::Release,
        200..=499 => Disposition::Store,
        // 1xx is no end of a request; 101 hands the connection over.
        100..=199 => Disposition::Release,
        _ => Disposition::Fail,
    }
}

/// Stores every response of a handler that has begun, also its failures.
pub(crate) fn kept_by_stripe(status: StatusCode) -> Disposition {
    match status.as_u16() {
        409 => Disposition::Release,
        503 => Disposition::Fail,
        500..=599 => Disposition::Store,
        _ => kept_by_default(status),
    }
}

/// Says in a response that the effect is committed, whatever the status: the response is stored and replayed.
///
/// Put it into the response's extensions; with the feature `axum` it is a response part too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectCommitted;

/// Says in a response that nothing happened, neither here nor at any service that the handler called: repeats run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingHappened;

/// Says in a response that it is not to be kept: repeats run. In transactional mode the transaction is rolled back, in
/// leased mode it counts as [`NothingHappened`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoNotStore;

/// Says in a response that its body has no end, or is not to be waited for: the record is completed without it, and it
/// is streamed. Repeats are told that the response is not available. `text/event-stream` is treated so without being
/// marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbounded;

/// Whether a response says that no route was there, rather than what a handler found: no route matched, or none for the
/// method, and nobody has written a word about it.
pub(crate) fn is_unrouted<B: Body>(response: &Response<B>, is_routed: bool) -> bool {
    let status = response.status();
    let unmatched = status == StatusCode::NOT_FOUND && !is_routed || status == StatusCode::METHOD_NOT_ALLOWED;
    unmatched && response.body().size_hint().exact() == Some(0)
}

/// What the executor is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The effect stands.
    Committed,
    /// A final error, which repeats get; a transaction is rolled back.
    Declined,
    /// Nothing is kept.
    NothingHappened,
    /// The handler failed.
    Failed,
}

impl Verdict {
    /// What the handler has marked, whatever the status. A committed effect wins over everything.
    pub(crate) fn of_marks(marks: &Extensions) -> Option<Self> {
        if marks.get::<EffectCommitted>().is_some() {
            return Some(Self::Committed);
        }
        (marks.get::<NothingHappened>().is_some() || marks.get::<DoNotStore>().is_some())
            .then_some(Self::NothingHappened)
    }

    pub(crate) fn of(status: StatusCode, disposition: Disposition, marks: &Extensions) -> Self {
        if let Some(verdict) = Self::of_marks(marks) {
            return verdict;
        }
        match disposition {
            Disposition::Store if status.is_success() || status.is_redirection() => Self::Committed,
            Disposition::Store => Self::Declined,
            Disposition::Release => Self::NothingHappened,
            Disposition::Fail => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_disposition() {
        for code in 100..=599 {
            let status = StatusCode::from_u16(code).unwrap();
            let expected = match code {
                100..=199 | 401 | 403 | 407 | 408 | 421 | 425 | 429 => Disposition::Release,
                200..=499 => Disposition::Store,
                _ => Disposition::Fail,
            };
            assert_eq!(kept_by_default(status), expected, "{code}");
        }
    }

    #[test]
    fn a_committed_effect_wins_over_status_and_marks() {
        let mut marks = Extensions::new();
        marks.insert(NothingHappened);
        marks.insert(DoNotStore);
        let verdict = |marks: &Extensions| Verdict::of(StatusCode::INTERNAL_SERVER_ERROR, Disposition::Fail, marks);
        assert_eq!(verdict(&marks), Verdict::NothingHappened);
        marks.insert(EffectCommitted);
        assert_eq!(verdict(&marks), Verdict::Committed);
    }
}
