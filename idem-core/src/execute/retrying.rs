//! When an attempt is made again without the caller.

use std::time::Duration;

use super::Shared;
use super::prepared::Prepared;
use crate::clock::{Deadline, Stopwatch, random_bytes};
use crate::error::{Error, ErrorKind, Retry};

/// How long the orphan of a broken connection, or its COMMIT, may still be on its way in the database.
const ORPHAN_SETTLES: Duration = Duration::from_secs(5);

/// Decides after each failed attempt of one call.
pub(crate) struct Retrying {
    deadline: Deadline,
    retries: u32,
    polls: u32,
}

impl Retrying {
    pub(crate) fn new(call: &Prepared) -> Self {
        Self {
            deadline: Deadline::after(call.wait),
            retries: 0,
            polls: 0,
        }
    }

    /// Returns when the next attempt is due, or gives the error back. Nothing is held meanwhile.
    ///
    /// `rerun` tells whether the effect may be called again.
    pub(crate) async fn again<S>(
        &mut self,
        shared: &Shared<S>,
        call: &Prepared,
        error: Error,
        rerun: bool,
    ) -> Result<(), Error> {
        match error.retry() {
            _ if error.kind() == ErrorKind::InFlight => {
                let left = self.deadline.left();
                if left.is_zero() {
                    return Err(error);
                }
                self.polls += 1;
                let pause = left.min(jittered(10, self.polls, 200)?);
                let waiting = Stopwatch::start();
                shared.registry.wait(call.key(), pause).await;
                call.watch.waited(waiting.elapsed());
                Ok(())
            }
            retry @ (Retry::Transaction | Retry::ConnectionLost | Retry::CommitUnknown)
                if rerun && self.retries < shared.settings.max_retries =>
            {
                self.retries += 1;
                if retry != Retry::Transaction {
                    // Whatever became of the orphan, the next claim finds out; it may have to wait for it.
                    self.deadline = Deadline::after(self.deadline.left().max(ORPHAN_SETTLES));
                }
                tracing::debug!(action = call.action, key = call.key().short(), retries = self.retries, error = %error, "the transaction is run again");
                tokio::time::sleep(jittered(2, self.retries, 500)?).await;
                Ok(())
            }
            Retry::Never | Retry::Later | Retry::Transaction | Retry::ConnectionLost | Retry::CommitUnknown => {
                Err(error)
            }
        }
    }
}

/// `base` milliseconds doubled for each try up to `most`, of which a random half is taken off, so
/// that those who collided do not meet again.
fn jittered(base: u64, tries: u32, most: u64) -> Result<Duration, Error> {
    let full = base.saturating_mul(1 << tries.min(16)).min(most);
    let [random] = random_bytes::<1>()?;
    Ok(Duration::from_micros(
        full * 1000 - full * 500 * u64::from(random) / 255,
    ))
}
