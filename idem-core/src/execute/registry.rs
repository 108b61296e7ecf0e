use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::key::IdempotencyKey;

/// The keys that are running in this process.
///
/// It spares a duplicate the way to the database and wakes it when the running attempt ends. It is
/// a hint: whether an effect may run is decided by the claim alone.
#[derive(Clone, Default)]
pub(crate) struct Registry(Arc<Mutex<HashMap<IdempotencyKey, Arc<Notify>>>>);

/// A key that runs until this is dropped.
pub(crate) struct Running {
    registry: Registry,
    key: IdempotencyKey,
}

impl Registry {
    /// Enters a key; `None` if it is running already.
    pub(crate) fn enter(&self, key: &IdempotencyKey) -> Option<Running> {
        let mut running = self.lock();
        if running.contains_key(key) {
            return None;
        }
        running.insert(key.clone(), Arc::default());
        Some(Running {
            registry: self.clone(),
            key: key.clone(),
        })
    }

    /// Waits until the running attempt of `key` ends, `limit` at most. Without one in this process
    /// it waits for the whole limit.
    ///
    /// # Cancel safety
    ///
    /// Nothing is held.
    pub(crate) async fn wait(&self, key: &IdempotencyKey, limit: Duration) {
        let notify = self.lock().get(key).cloned();
        match notify {
            Some(notify) => {
                // A `Notified` hears of everything from its creation on; the attempt may have ended
                // just before it, which is why the limit is short.
                let _ = tokio::time::timeout(limit, notify.notified()).await;
            }
            None => tokio::time::sleep(limit).await,
        }
    }

    // The map is whole after each statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(notify) = self.registry.lock().remove(&self.key) {
            notify.notify_waiters();
        }
    }
}
