//! How often handlers ran.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use idem::tower::Attempt;

use crate::principal::Principal;

/// Counts the runs of each key of each principal, in this process: what a rollback does not undo.
#[derive(Clone, Default)]
pub struct Runs(Arc<Mutex<HashMap<(Principal, String), u64>>>);

impl Runs {
    pub fn of(&self, principal: Principal, key: String) -> u64 {
        self.lock().get(&(principal, key)).copied().unwrap_or(0)
    }

    fn count(&self, principal: Principal, key: String) -> u64 {
        let mut runs = self.lock();
        let runs = runs.entry((principal, key)).or_default();
        *runs += 1;
        *runs
    }

    // A count is one step.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Principal, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of the run that a request is, from 1; absent without a key.
#[derive(Clone, Copy)]
pub struct Run(pub u64);

/// Between the layer and the handlers: counts before any of them does anything.
pub async fn count(State(runs): State<Runs>, mut request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    let key = extensions.get::<Attempt>().and_then(Attempt::client_key);
    if let (Some(key), Some(principal)) = (key, extensions.get::<Principal>()) {
        let run = runs.count(principal.clone(), key.as_str().to_owned());
        request.extensions_mut().insert(Run(run));
    }
    next.run(request).await
}
