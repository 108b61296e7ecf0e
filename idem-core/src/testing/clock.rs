use std::future::Future;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::store::{MemoryStore, Store};

/// What tells the time of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The clock of production, ahead by so many milliseconds; behind it where the number is negative.
    Ahead(i64),
    /// It stands still at this moment.
    Stopped(Timestamp),
}

impl Default for Clock {
    fn default() -> Self {
        Self::Ahead(0)
    }
}

impl Clock {
    /// The time of a storage that lives in this process.
    pub(crate) fn now(self) -> Timestamp {
        match self {
            Self::Ahead(millis) => Timestamp::from_millis(Timestamp::of_this_host().as_millis().saturating_add(millis)),
            Self::Stopped(at) => at,
        }
    }
}

/// A store that goes by a clock which tests set, for every process that uses its storage at once.
///
/// # Examples
///
/// An outcome has expired, without waiting for it:
///
/// ```
/// use std::time::Duration;
///
/// use idem_core::testing::{Clock, Intent, TestClock};
/// use idem_core::{ErrorKind, Idem, MemoryConnection, MemoryStore};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// let idem = Idem::new(store.clone());
/// let intent = Intent::new("refund");
/// idem.transaction(&intent, async |_: &mut MemoryConnection| Ok(7)).await?;
/// store.set_clock(Clock::Ahead(91 * 24 * 60 * 60 * 1000)).await?;
/// let repeat = idem.transaction(&intent, async |_: &mut MemoryConnection| Ok(8)).await;
/// assert_eq!(repeat.unwrap_err().kind(), ErrorKind::AlreadyExecuted);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run()).unwrap();
/// ```
pub trait TestClock: Store {
    /// Sets the clock.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) for a store that was not made to go by such a clock, and for what its storage
    /// cannot hold; kind [`Store`](crate::ErrorKind::Store). The clock then goes on as before.
    fn set_clock(&self, clock: Clock) -> impl Future<Output = Result<(), Error>> + Send;
}

impl TestClock for MemoryStore {
    async fn set_clock(&self, clock: Clock) -> Result<(), Error> {
        self.set_clock_to(clock);
        Ok(())
    }
}
