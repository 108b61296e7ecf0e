use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

use super::lease::Standing;
use crate::key::IdempotencyKey;

/// What an outside effect gets: its identity, and whether the claim still holds.
///
/// Clones speak of the same attempt.
#[derive(Clone, Debug)]
pub struct Effect {
    key: IdempotencyKey,
    generation: u32,
    attempt: u32,
    lease: watch::Receiver<Standing>,
    references: Arc<Mutex<Vec<(String, String)>>>,
}

impl Effect {
    pub(crate) fn new(key: IdempotencyKey, generation: u32, attempt: u32, lease: watch::Receiver<Standing>) -> Self {
        Self {
            key,
            generation,
            attempt,
            lease,
            references: Arc::default(),
        }
    }

    /// The key of the call.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The number of this attempt in its generation, from 1. From 2 on, an earlier attempt may have
    /// reached the downstream.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How often the effect was reopened, from 1.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The idempotency key to send downstream: the same in every attempt, another in every generation.
    ///
    /// See [`IdempotencyKey::downstream_key`].
    #[must_use]
    pub fn downstream_key(&self) -> Uuid {
        self.key.downstream_key(self.generation)
    }

    /// The id of the row that the effect writes, if it writes one.
    ///
    /// See [`IdempotencyKey::row_id`].
    #[must_use]
    pub fn row_id(&self) -> Uuid {
        self.key.row_id(self.generation)
    }

    /// The idempotency key of one of several calls that the effect makes.
    ///
    /// See [`IdempotencyKey::child`].
    #[must_use]
    pub fn child(&self, name: &str) -> Uuid {
        self.key.child(self.generation, name)
    }

    /// Puts a reference beside the effect in the ledger: what the downstream calls it.
    pub fn reference(&self, system: impl Into<String>, id: impl Into<String>) {
        self.lock().push((system.into(), id.into()));
    }

    /// Whether the claim was lost: another attempt may be running. Ask right before sending, since a process that
    /// was stopped for longer than its lease finds out here and nowhere else.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lease.borrow().is_lost()
    }

    /// Waits until the claim is lost, if it ever is. Use it to stop work whose result cannot be
    /// recorded any more.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn lost(&self) {
        let mut lease = self.lease.clone();
        loop {
            let left = {
                let standing = lease.borrow_and_update();
                if standing.is_lost() {
                    return;
                }
                standing.deadline.left()
            };
            if let Ok(Err(_)) = tokio::time::timeout(left, lease.changed()).await {
                // The sender is gone, so the attempt has ended and nothing can be lost any more.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn references(&self) -> Vec<(String, String)> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(String, String)>> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
