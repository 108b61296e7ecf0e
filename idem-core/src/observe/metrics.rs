use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use super::{CallClaimed, CallConcluded, Conclusion, Observer};

/// Tells the recorder of the [`metrics`] facade.
///
/// | name | kind | labels | what |
/// |---|---|---|---|
/// | `idempotency.calls` | counter | `action`, `outcome` | calls that ended, by [`Conclusion`] |
/// | `idempotency.duration` | histogram, seconds | `action`, `outcome` | from the derived key to the end |
/// | `idempotency.wait.duration` | histogram, seconds | `action` | how long calls waited for another attempt |
/// | `idempotency.mismatches` | counter | `action` | calls whose key is bound to another request |
/// | `idempotency.in_flight` | gauge | `action` | calls of this process that hold a claim |
/// | `idempotency.unknown` | gauge | | outside effects whose outcome is unknown |
/// | `idempotency.unknown.oldest.age` | gauge, seconds | | how long ago the oldest of them began; 0 without any |
/// | `idempotency.failed_open` | counter | `action` | requests that a layer served without protection |
/// | `idempotency.unused_transactions` | counter | `action` | handlers in transactional mode that did not use their transaction |
/// | `idempotency.purged` | counter | | expired records that were removed |
///
/// Labels hold actions and outcomes, and never a part of an input.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use idem_core::{Idem, MemoryStore, MetricsObserver, Settings};
///
/// let settings = Settings::default().observer(Arc::new(MetricsObserver::new()));
/// assert!(Idem::with_settings(MemoryStore::new(), settings).is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MetricsObserver {
    _described: (),
}

impl MetricsObserver {
    /// Describes the metrics to the recorder that is installed.
    #[must_use]
    pub fn new() -> Self {
        describe_counter!(CALLS, Unit::Count, "Calls that ended, by outcome");
        describe_histogram!(DURATION, Unit::Seconds, "From the derived key to the end of a call");
        describe_histogram!(
            WAIT_DURATION,
            Unit::Seconds,
            "How long calls waited for another attempt"
        );
        describe_counter!(MISMATCHES, Unit::Count, "Calls whose key is bound to another request");
        describe_gauge!(IN_FLIGHT, Unit::Count, "Calls of this process that hold a claim");
        describe_gauge!(UNKNOWN, Unit::Count, "Outside effects whose outcome is unknown");
        describe_gauge!(
            UNKNOWN_AGE,
            Unit::Seconds,
            "How long ago the oldest unknown effect began"
        );
        describe_counter!(FAILED_OPEN, Unit::Count, "Requests served without protection");
        describe_counter!(
            UNUSED_TRANSACTIONS,
            Unit::Count,
            "Handlers that did not use their transaction"
        );
        describe_counter!(PURGED, Unit::Count, "Expired records that were removed");
        Self { _described: () }
    }
}

impl Default for MetricsObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for MetricsObserver {
    fn claimed(&self, call: &CallClaimed<'_>) {
        gauge!(IN_FLIGHT, ACTION => call.action.to_owned()).increment(1.0);
    }

    fn concluded(&self, call: &CallConcluded<'_>) {
        let (action, outcome) = (call.action, call.conclusion.as_str());
        counter!(CALLS, ACTION => action.to_owned(), OUTCOME => outcome).increment(1);
        histogram!(DURATION, ACTION => action.to_owned(), OUTCOME => outcome).record(call.duration);
        if let Some(waited) = call.waited {
            histogram!(WAIT_DURATION, ACTION => action.to_owned()).record(waited);
        }
        if call.conclusion == Conclusion::Mismatch {
            counter!(MISMATCHES, ACTION => action.to_owned()).increment(1);
        }
        if call.attempt.is_some() {
            gauge!(IN_FLIGHT, ACTION => action.to_owned()).decrement(1.0);
        }
    }

    fn unknown(&self, count: u64, oldest: Option<Duration>) {
        // A gauge is a double, and nobody has 2^53 of these.
        gauge!(UNKNOWN).set(count as f64);
        gauge!(UNKNOWN_AGE).set(oldest.unwrap_or_default().as_secs_f64());
    }

    fn failed_open(&self, action: &str) {
        counter!(FAILED_OPEN, ACTION => action.to_owned()).increment(1);
    }

    fn unused_transaction(&self, action: &str) {
        counter!(UNUSED_TRANSACTIONS, ACTION => action.to_owned()).increment(1);
    }

    fn purged(&self, count: u64) {
        counter!(PURGED).increment(count);
    }
}

const CALLS: &str = "idempotency.calls";
const DURATION: &str = "idempotency.duration";
const WAIT_DURATION: &str = "idempotency.wait.duration";
const MISMATCHES: &str = "idempotency.mismatches";
const IN_FLIGHT: &str = "idempotency.in_flight";
const UNKNOWN: &str = "idempotency.unknown";
const UNKNOWN_AGE: &str = "idempotency.unknown.oldest.age";
const FAILED_OPEN: &str = "idempotency.failed_open";
const UNUSED_TRANSACTIONS: &str = "idempotency.unused_transactions";
const PURGED: &str = "idempotency.purged";
const ACTION: &str = "action";
const OUTCOME: &str = "outcome";
