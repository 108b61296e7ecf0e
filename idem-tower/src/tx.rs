//! The open transaction on its way to the handler and back.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Extensions;
use idem_core::{Guard, TransactionalStore};

use crate::response::StoredResponse;

type Held<S> = Guard<S, StoredResponse>;

/// The transaction that the request's key is claimed in; what the handler does on it commits with the recorded response.
///
/// Queries run on [`connection`](Self::connection). With the feature `axum` it is an extractor. It goes back to the layer when
/// it is dropped, which has to be before the response is returned: a `Tx` that is kept longer, in a spawned task or a response
/// body, makes the request fail and what was done on it is rolled back.
pub struct Tx<S: TransactionalStore> {
    // Taken when it is dropped.
    guard: Option<Held<S>>,
    slot: Slot<S>,
}

impl<S: TransactionalStore> Tx<S> {
    /// Takes the transaction of a request from its extensions.
    ///
    /// # Errors
    ///
    /// When the request has none, or it is taken already.
    pub fn take(extensions: &Extensions) -> Result<Self, TxError> {
        let slot = extensions.get::<Slot<S>>().ok_or(TxError::None)?;
        slot.lend()
    }

    /// The connection that the handler runs its statements on.
    pub fn connection(&mut self) -> &mut S::Connection {
        self.guard
            .as_mut()
            // Only `drop` takes it.
            .expect("the guard is here until the drop")
            .connection()
    }
}

impl<S: TransactionalStore> AsMut<S::Connection> for Tx<S> {
    fn as_mut(&mut self) -> &mut S::Connection {
        self.connection()
    }
}

impl<S: TransactionalStore> Drop for Tx<S> {
    fn drop(&mut self) {
        let mut place = self.slot.lock();
        if matches!(*place, Place::Lent)
            && let Some(guard) = self.guard.take()
        {
            *place = Place::Here(guard);
        }
        // Otherwise the layer has given up waiting, and the guard rolls back.
    }
}

/// Why a handler gets no transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TxError {
    /// The request came without a key, or its route has no layer in transactional mode on this store.
    None,
    /// It is in use already: by another extractor, or by whoever it was given to.
    Taken,
}

impl fmt::Display for TxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => {
                "the request has no transaction: either it came without a key (take an `Option<Tx<_>>` where keys are optional), or the route has no `IdempotencyLayer::transactional` on this type of store"
            }
            Self::Taken => "the transaction of the request is taken already; a handler takes one `Tx` and passes it on",
        })
    }
}

impl std::error::Error for TxError {}

/// Where the transaction of a request is.
pub(crate) struct Slot<S: TransactionalStore>(Arc<Shared<S>>);

struct Shared<S: TransactionalStore> {
    place: Mutex<Place<S>>,
    was_lent: AtomicBool,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each request, behind a pointer already"
)]
enum Place<S: TransactionalStore> {
    Here(Held<S>),
    Lent,
    Closed,
}

impl<S: TransactionalStore> Slot<S> {
    pub(crate) fn new(guard: Held<S>) -> Self {
        Self(Arc::new(Shared {
            place: Mutex::new(Place::Here(guard)),
            was_lent: AtomicBool::new(false),
        }))
    }

    fn lend(&self) -> Result<Tx<S>, TxError> {
        let mut place = self.lock();
        match std::mem::replace(&mut *place, Place::Lent) {
            Place::Here(guard) => {
                self.0.was_lent.store(true, Ordering::Release);
                Ok(Tx {
                    guard: Some(guard),
                    slot: self.clone(),
                })
            }
            other => {
                *place = other;
                Err(TxError::Taken)
            }
        }
    }

    /// Takes the transaction back for good; `None` if the handler still has it.
    pub(crate) fn close(&self) -> Option<Held<S>> {
        match std::mem::replace(&mut *self.lock(), Place::Closed) {
            Place::Here(guard) => Some(guard),
            Place::Lent | Place::Closed => None,
        }
    }

    pub(crate) fn was_lent(&self) -> bool {
        self.0.was_lent.load(Ordering::Acquire)
    }

    // Each change is one assignment.
    fn lock(&self) -> MutexGuard<'_, Place<S>> {
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: TransactionalStore> Clone for Slot<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
