use std::future::Future;

pub use crate::clock::Clock;
use crate::error::Error;
use crate::store::{MemoryStore, Store};

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
    /// Kind [`Store`](crate::ErrorKind::Store); the clock then goes on as before.
    fn set_clock(&self, clock: Clock) -> impl Future<Output = Result<(), Error>> + Send;
}

impl TestClock for MemoryStore {
    async fn set_clock(&self, clock: Clock) -> Result<(), Error> {
        self.set_clock_to(clock);
        Ok(())
    }
}
