use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::key::{Fingerprint, IdempotencyKey};

/// The keys that are being called in this process.
///
/// It spares a duplicate the way to the database and wakes it when the running attempt ends. It is
/// a hint: whether an effect may run is decided by the claim alone.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<HashMap<IdempotencyKey, Arc<Entry>>>>);

struct Entry {
    /// What the call asks for.
    fingerprint: Fingerprint,
    /// Whether the claim is won. Until then the call may turn out to be a replay.
    runs: AtomicBool,
    changed: Notify,
}

/// A key that is being called until this is dropped.
pub(crate) struct Called {
    registry: Registry,
    key: IdempotencyKey,
    entry: Arc<Entry>,
}

/// What a new call of a key finds.
pub(crate) enum Entered {
    /// Nobody else is calling it, as far as this process knows.
    First(Called),
    /// Others called it a moment ago and found that nothing is to be run; ask the store.
    Settled,
    /// Its effect is running.
    Runs,
    /// Its effect is running for a call that asks for something else.
    RunsAnother,
}

impl Registry {
    /// Enters a key. While another call is claiming it, waits for what that finds: one round trip,
    /// without a connection of its own.
    ///
    /// # Cancel safety
    ///
    /// Nothing is held.
    pub(crate) async fn enter(&self, key: &IdempotencyKey, fingerprint: &Fingerprint) -> Entered {
        let mut waited = 0;
        loop {
            let entry = {
                let mut calls = self.lock();
                match calls.get(key) {
                    None if waited > 0 => return Entered::Settled,
                    None => {
                        let entry = Arc::new(Entry {
                            fingerprint: fingerprint.clone(),
                            runs: AtomicBool::new(false),
                            changed: Notify::new(),
                        });
                        calls.insert(key.clone(), Arc::clone(&entry));
                        return Entered::First(Called {
                            registry: self.clone(),
                            key: key.clone(),
                            entry,
                        });
                    }
                    Some(entry) if entry.runs.load(Ordering::Acquire) && entry.fingerprint != *fingerprint => {
                        return Entered::RunsAnother;
                    }
                    // A claim that takes this long waits for a connection, and so would this call.
                    Some(entry) if entry.runs.load(Ordering::Acquire) || waited == LOOKS => return Entered::Runs,
                    Some(entry) => Arc::clone(entry),
                }
            };
            waited += 1;
            // A `Notified` hears of everything from its creation on; the claim may have ended just
            // before it, which is why the wait is short.
            let _ = tokio::time::timeout(LOOK_AGAIN, entry.changed.notified()).await;
        }
    }

    /// Whether the effect of `key` is running in this process.
    pub(crate) fn runs(&self, key: &IdempotencyKey) -> bool {
        self.lock()
            .get(key)
            .is_some_and(|entry| entry.runs.load(Ordering::Acquire))
    }

    /// Waits until the running attempt of `key` ends, `limit` at most. Without one in this process
    /// it waits for the whole limit.
    ///
    /// # Cancel safety
    ///
    /// Nothing is held.
    pub(crate) async fn wait(&self, key: &IdempotencyKey, limit: Duration) {
        let entry = self.lock().get(key).cloned();
        match entry {
            Some(entry) => {
                let _ = tokio::time::timeout(limit, entry.changed.notified()).await;
            }
            None => tokio::time::sleep(limit).await,
        }
    }

    // The map is whole after each statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, Arc<Entry>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Called {
    /// Tells duplicates that the claim is won.
    pub(crate) fn runs(&self) {
        self.entry.runs.store(true, Ordering::Release);
        self.entry.changed.notify_waiters();
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.key);
        self.entry.changed.notify_waiters();
    }
}

/// How often a call looks before it takes another's claim for a running effect.
const LOOKS: u32 = 25;
/// How long a missed notification can cost.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
