use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Counts the tasks that run outside effects, so that a shutdown can wait for them.
#[derive(Clone, Default)]
pub(crate) struct Tracker(Arc<Tracked>);

#[derive(Default)]
struct Tracked {
    running: AtomicUsize,
    idle: Notify,
}

/// One running task.
pub(crate) struct Token(Tracker);

impl Tracker {
    pub(crate) fn token(&self) -> Token {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        Token(self.clone())
    }

    /// Waits until nothing runs, `limit` at most; how many still run.
    pub(crate) async fn drain(&self, limit: Duration) -> usize {
        let idle = async {
            loop {
                // Created before the count is read, so it hears of a task that ends in between.
                let idle = self.0.idle.notified();
                if self.running() == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(limit, idle).await;
        self.running()
    }

    fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.0.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.0.idle.notify_waiters();
        }
    }
}
