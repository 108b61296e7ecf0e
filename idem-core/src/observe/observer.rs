use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{CallClaimed, CallConcluded};

/// Is told what calls come to; set by [`Settings::observer`](crate::Settings::observer).
///
/// Its functions run on the task of the call, or in a destructor, so they must not block. What they do changes no
/// call: one that panics is caught, where panics unwind, and logged. A call whose input has no key, or which is refused
/// as misuse before its key is looked at, is told to nobody.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use idem_core::{CallConcluded, Conclusion, Idem, MemoryStore, Observer, Settings};
///
/// /// Counts callers that changed their minds.
/// #[derive(Debug, Default)]
/// struct Mismatches(AtomicU64);
///
/// impl Observer for Mismatches {
///     fn concluded(&self, call: &CallConcluded<'_>) {
///         if call.conclusion == Conclusion::Mismatch {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let settings = Settings::default().observer(Arc::new(Mismatches::default()));
/// assert!(Idem::with_settings(MemoryStore::new(), settings).is_ok());
/// ```
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// A call has won its claim. Its [`concluded`](Self::concluded) follows, in every case in which the process goes on.
    fn claimed(&self, call: &CallClaimed<'_>) {
        let _ = call;
    }

    /// A call has ended.
    fn concluded(&self, call: &CallConcluded<'_>) {
        let _ = call;
    }

    /// So many outside effects have an unknown outcome; the first attempt of the oldest began so long ago.
    fn unknown(&self, count: u64, oldest: Option<Duration>) {
        let _ = (count, oldest);
    }

    /// A layer was told to serve requests without protection while its store does not answer, and did so.
    fn failed_open(&self, action: &str) {
        let _ = action;
    }

    /// A handler succeeded in transactional mode without asking for its transaction, so that what it did is not part of it.
    fn unused_transaction(&self, action: &str) {
        let _ = action;
    }

    /// So many expired records were removed.
    fn purged(&self, count: u64) {
        let _ = count;
    }
}

/// Tells an observer something. What happens in it stays in it.
pub(crate) fn tell(observer: &dyn Observer, event: impl FnOnce(&dyn Observer)) {
    // Nothing of the call's is in its hands, so nothing can be left half done.
    if catch_unwind(AssertUnwindSafe(|| event(observer))).is_err() {
        tracing::warn!("an observer panicked; the call goes on");
    }
}
