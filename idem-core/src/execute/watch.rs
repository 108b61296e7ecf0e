//! The one thing that says how a call ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::Span;

use super::Done;
use crate::clock::Stopwatch;
use crate::error::Error;
use crate::observe::{CallClaimed, CallConcluded, Conclusion, Observer, tell};

/// Watches one call, wherever its work goes on, and concludes it once: by [`conclude`](Self::conclude), or when the last
/// part of the call is dropped without.
pub(crate) struct Watch {
    span: Span,
    observed: Option<Observed>,
    progress: Mutex<Progress>,
}

struct Observed {
    observer: Arc<dyn Observer>,
    action: String,
    began: Stopwatch,
}

#[derive(Default)]
struct Progress {
    attempt: Option<u32>,
    leased: bool,
    waited: Option<Duration>,
    concluded: bool,
}

impl Watch {
    pub(crate) fn new(span: Span, observer: Option<&Arc<dyn Observer>>, action: &str) -> Self {
        Self {
            span,
            observed: observer.map(|observer| Observed {
                observer: Arc::clone(observer),
                action: action.to_owned(),
                began: Stopwatch::start(),
            }),
            progress: Mutex::default(),
        }
    }

    /// What the call's work runs in.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The claim is won in a transaction, once more if that is run again.
    pub(crate) fn claimed(&self, attempt: u32) {
        self.claims(attempt, false);
    }

    /// The claim is won and committed, and its lease in good hands.
    pub(crate) fn leased(&self, attempt: u32) {
        self.claims(attempt, true);
    }

    fn claims(&self, attempt: u32, leased: bool) {
        self.span.record("attempt", attempt);
        let earlier = {
            let mut progress = self.lock();
            progress.leased = leased;
            progress.attempt.replace(attempt)
        };
        if let (None, Some(observed)) = (earlier, &self.observed) {
            let action = observed.action.as_str();
            tell(observed.observer.as_ref(), |observer| {
                observer.claimed(&CallClaimed { action, attempt });
            });
        }
    }

    /// Another attempt was waited for.
    pub(crate) fn waited(&self, time: Duration) {
        let mut progress = self.lock();
        *progress.waited.get_or_insert_default() += time;
    }

    /// Says how the call ended.
    pub(crate) fn conclude<T>(&self, result: &Result<Done<T>, Error>) {
        match result {
            Ok(Done::Executed(_)) => self.executed(),
            Ok(Done::Replayed(_)) => self.replayed(),
            Err(error) => self.conclude_as(Conclusion::of_error(error.kind())),
        }
    }

    fn executed(&self) {
        let took_over = {
            let progress = self.lock();
            progress.leased && progress.attempt.is_some_and(|attempt| attempt > 1)
        };
        self.conclude_as(match took_over {
            true => Conclusion::Takeover,
            false => Conclusion::Executed,
        });
    }

    /// Says that the call was answered from the record.
    pub(crate) fn replayed(&self) {
        let waited = self.lock().waited.is_some();
        self.conclude_as(match waited {
            true => Conclusion::Waited,
            false => Conclusion::Replayed,
        });
    }

    /// As [`conclude`](Self::conclude), where nobody is there to get a result.
    pub(crate) fn conclude_as(&self, conclusion: Conclusion) {
        let (waited, attempt) = {
            let mut progress = self.lock();
            if std::mem::replace(&mut progress.concluded, true) {
                return;
            }
            (progress.waited, progress.attempt)
        };
        self.span.record("outcome", conclusion.as_str());
        if let Some(observed) = &self.observed {
            let event = CallConcluded {
                action: &observed.action,
                conclusion,
                duration: observed.began.elapsed(),
                waited,
                attempt,
            };
            tell(observed.observer.as_ref(), |observer| observer.concluded(&event));
        }
    }

    // What it holds is whole after each statement.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let leased = self.lock().leased;
        self.conclude_as(match leased {
            true => Conclusion::Unknown,
            false => Conclusion::Failed,
        });
    }
}
