//! Claims that come later than their request was answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idem_core::{EffectError, Error, IdempotencyKey, Leased as Claimed, Store};

use crate::response::StoredResponse;

/// The keys whose claim nobody waits for any more. Each claim is given back as soon as it is there; until then a repeat is
/// not told that its request is in progress, since nothing is.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateClaims(Arc<Mutex<HashMap<IdempotencyKey, usize>>>);

impl LateClaims {
    /// Whether a claim of this key is still to be given back.
    pub(crate) fn has(&self, key: &IdempotencyKey) -> bool {
        self.lock().contains_key(key)
    }

    /// Makes the claim of a key known as one that is to be given back.
    pub(crate) fn enter(&self, key: IdempotencyKey) -> LateClaim {
        *self.lock().entry(key.clone()).or_default() += 1;
        LateClaim {
            claims: self.clone(),
            key,
        }
    }

    // The map is whole after each statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One claim that is to be given back until this is dropped.
pub(crate) struct LateClaim {
    claims: LateClaims,
    key: IdempotencyKey,
}

impl LateClaim {
    /// Waits for the claim, and gives it back.
    pub(crate) async fn give_back<S: Store>(
        self,
        claiming: impl Future<Output = Result<Claimed<S, StoredResponse>, Error>>,
    ) {
        if let Ok(Claimed::Execute(guard)) = claiming.await {
            let nothing = EffectError::nothing_happened("the claim came later than the request was answered");
            let _ = guard.fail(nothing).await;
        }
    }
}

impl Drop for LateClaim {
    fn drop(&mut self) {
        let mut claims = self.claims.lock();
        if let Some(count) = claims.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                claims.remove(&self.key);
            }
        }
    }
}
