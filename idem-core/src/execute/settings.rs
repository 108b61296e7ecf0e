use std::sync::Arc;
use std::time::Duration;

use crate::codec::{Identity, Keeper, OutcomeCodec, Retain};
use crate::error::{Error, ErrorKind};
use crate::observe::Observer;

/// Below this a renewal cannot be relied on to arrive in time.
const SHORTEST_LEASE: Duration = Duration::from_millis(10);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How calls behave unless they say otherwise.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use idem_core::{Idem, MemoryStore, Settings};
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// // Brokers may redeliver for two days, but outcomes would be forgotten after one.
/// let settings = Settings::default().retention(day).replay_window(2 * day);
/// assert!(Idem::with_settings(MemoryStore::new(), settings).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) retention: Duration,
    pub(crate) replay_window: Duration,
    pub(crate) wait: Duration,
    pub(crate) lease: Duration,
    pub(crate) probe: bool,
    pub(crate) max_outcome_bytes: usize,
    pub(crate) max_retries: u32,
    pub(crate) retain: Retain,
    pub(crate) outcome_codec: Arc<dyn OutcomeCodec>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retention: 90 * DAY,
            replay_window: Duration::ZERO,
            wait: Duration::ZERO,
            lease: Duration::from_secs(30),
            probe: false,
            max_outcome_bytes: 1024 * 1024,
            max_retries: 10,
            retain: Retain::Body,
            outcome_codec: Arc::new(Identity),
            observer: None,
        }
    }
}

impl Settings {
    /// How long an outcome is kept and replayed, a thousand years at most. Default: 90 days.
    ///
    /// An effect stays in the ledger when its outcome has expired, so a late repeat is told that it
    /// was already executed; it never runs again.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// The longest time in which clients or brokers may repeat a call. Default: zero, not declared.
    ///
    /// A retention shorter than this is refused.
    #[must_use]
    pub fn replay_window(mut self, replay_window: Duration) -> Self {
        self.replay_window = replay_window;
        self
    }

    /// How long a duplicate waits for the running attempt before it is told that one is in flight.
    /// Default: zero, it is told at once. No connection is held while waiting.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How long a claim for an outside effect holds without being renewed. It is renewed at a third of
    /// this, so an effect may take longer; after a crash this is how long a duplicate is told that one
    /// is in flight. Default: 30 seconds.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Whether a call first looks for a recorded outcome before it opens a transaction. Default: no.
    ///
    /// It costs one statement on a first execution and makes a replay one statement instead of four.
    #[must_use]
    pub fn probe(mut self, probe: bool) -> Self {
        self.probe = probe;
        self
    }

    /// The largest outcome that is kept, in bytes as they are stored, after the codec. Default: 1 MiB.
    ///
    /// The effect of a larger one is committed and its first caller gets the result; repeats are told
    /// that the result is unavailable.
    #[must_use]
    pub fn max_outcome_bytes(mut self, max_outcome_bytes: usize) -> Self {
        self.max_outcome_bytes = max_outcome_bytes;
        self
    }

    /// How often a transaction that the database undid (serialisation failure, deadlock) is run
    /// again. Default: 10.
    #[must_use]
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.max_retries = max_retries;
        self
    }

    /// Whether outcomes are kept, or only their digests. Default: [`Retain::Body`].
    #[must_use]
    pub fn retain(mut self, retain: Retain) -> Self {
        self.retain = retain;
        self
    }

    /// What outcomes go through on their way into the store and back. Default: none, they are kept as they are.
    ///
    /// Outcomes that were kept as they are stay readable when a codec is set
    /// ([`OutcomeCodec::reads_plain`]).
    #[must_use]
    pub fn outcome_codec(mut self, codec: Arc<dyn OutcomeCodec>) -> Self {
        self.outcome_codec = codec;
        self
    }

    /// Who is told what calls come to. Default: nobody but a subscriber of `tracing`.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// How outcomes are kept by these settings.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper {
            codec: Arc::clone(&self.outcome_codec),
            retain: self.retain,
            limit: self.max_outcome_bytes,
            digests: true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.lease < SHORTEST_LEASE {
            let message = format!(
                "a lease of {:?} ends before it can be renewed; set at least {SHORTEST_LEASE:?}",
                self.lease
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        if self.retention < self.lease {
            let message = format!(
                "outcomes would be kept for {:?}, shorter than a lease of {:?}; raise the retention",
                self.retention, self.lease
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        self.check_retention(self.retention)
    }

    /// Retention may be set per call, so it is checked there as well.
    pub(crate) fn check_retention(&self, retention: Duration) -> Result<(), Error> {
        if retention.as_millis() == 0 {
            return Err(Error::new(
                ErrorKind::Misuse,
                "a retention below one millisecond keeps no outcome to replay; set one as long as callers may retry",
            ));
        }
        if retention < self.replay_window {
            let message = format!(
                "outcomes would be kept for {retention:?}, but callers may repeat a call for {:?}; raise the retention or lower the replay window",
                self.replay_window
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(())
    }
}
