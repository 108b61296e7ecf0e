use idem_core::{ClientKey, Effect, IdempotencyKey};
use uuid::Uuid;

/// What a handler behind the layer can know of its request's key. It is in the request's extensions; with the feature
/// `axum` it is an extractor.
///
/// A request that passes without a key has none.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(crate) key: IdempotencyKey,
    pub(crate) client_key: Option<ClientKey>,
    pub(crate) number: u32,
    pub(crate) generation: u32,
    pub(crate) effect: Option<Effect>,
}

impl Attempt {
    /// The key on record.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The key, or in a hybrid route the step, that the client has sent.
    #[must_use]
    pub fn client_key(&self) -> Option<&ClientKey> {
        self.client_key.as_ref()
    }

    /// The number of this attempt, from 1. From 2 on, an earlier one may have reached other services.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Always false: a replay does not reach the handler.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        false
    }

    /// The idempotency key to send to another service: the same in every attempt.
    #[must_use]
    pub fn downstream_key(&self) -> Uuid {
        self.key.downstream_key(self.generation)
    }

    /// The idempotency key of one of several calls that the handler makes.
    #[must_use]
    pub fn child(&self, name: &str) -> Uuid {
        self.key.child(self.generation, name)
    }

    /// The effect under its lease, in leased mode: whether the claim still holds, and references for the ledger.
    #[must_use]
    pub fn effect(&self) -> Option<&Effect> {
        self.effect.as_ref()
    }
}
