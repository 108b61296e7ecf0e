//! Waiting for what another process is doing, or for a database that is busy or back in a moment.

use std::time::{Duration, Instant};

use idem::ErrorKind;

/// Pauses between attempts, each twice as long as the one before, until a minute is over.
pub struct Patience {
    ends: Instant,
    pause: Duration,
}

impl Patience {
    pub fn new() -> Self {
        Self {
            ends: Instant::now() + Duration::from_secs(60),
            pause: Duration::from_millis(10),
        }
    }

    /// Waits before the next attempt, or gives the error back if another attempt is of no use.
    pub async fn wait(&mut self, error: idem::Error) -> Result<(), idem::Error> {
        // Of a leased effect: the airline knows its keys for ever, so that asking again is how one finds out.
        let finds_out = matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::LostClaim);
        if !(error.is_retryable() || finds_out) || Instant::now() > self.ends {
            return Err(error);
        }
        tokio::time::sleep(error.retry_after().unwrap_or(self.pause)).await;
        self.pause = (self.pause * 2).min(Duration::from_secs(1));
        Ok(())
    }
}
