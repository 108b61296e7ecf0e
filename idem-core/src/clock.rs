//! Time and randomness: the only place of the crate where either is read.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::Error;

/// A moment of the storage's clock, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Moments that stores write and compare come from the storage itself, so that the clocks of
/// application hosts are never compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a moment from milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The moment `duration` later, at most the last one that can be written.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// The time from this moment until `later`; zero if `later` is not later.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// The host's clock. Stores that live in this process use it, and what a date is stated for.
    #[expect(clippy::disallowed_methods, reason = "this is the one source of wall-clock time")]
    pub(crate) fn of_this_host() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(millis(since_epoch))
    }
}

/// Whole milliseconds of a duration, as stores keep them; the largest number if it does not fit.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A monotonic limit on how long a caller is willing to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// The deadline `wait` from now; a wait too long for the clock never ends.
    #[expect(clippy::disallowed_methods, reason = "this is the one source of monotonic time")]
    pub(crate) fn after(wait: Duration) -> Self {
        Self(Instant::now().checked_add(wait))
    }

    /// What is left of the wait; zero when it is over.
    #[expect(clippy::disallowed_methods, reason = "this is the one source of monotonic time")]
    pub(crate) fn left(self) -> Duration {
        self.0
            .map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }
}

/// Measures how long something takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one source of monotonic time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one source of monotonic time")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Fills an array with bytes from the operating system's generator.
///
/// # Errors
///
/// Returns an error of kind [`Store`](crate::ErrorKind::Store) when the operating system gives no
/// random bytes; nothing has happened then.
#[expect(clippy::disallowed_methods, reason = "this is the one source of randomness")]
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(source) => Err(Error::store("read random bytes from the operating system", source)),
    }
}
