//! Inputs as `#[idempotent]` would make them, with fields that a test chooses.

use idem_core::canonical::{CanonicalWriter, Members};
use idem_core::{CanonicalError, Derived, Idempotent, IdempotentFields, KeyField, Tenant, TenantSource, derive};
use serde::Serialize;

/// An input of one key field and one payload field, whose tenant comes from the call.
pub struct Input<'a, K, P> {
    pub action: &'a str,
    pub key: &'a K,
    pub payload: &'a P,
}

impl<K: KeyField, P: Serialize> IdempotentFields for Input<'_, K, P> {
    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::Call
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("id", self.key)
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.value("payload", self.payload)
    }
}

impl<K: KeyField, P: Serialize> Idempotent for Input<'_, K, P> {
    fn action(&self) -> &str {
        self.action
    }
}

/// Derives an input of tenant `acme`.
pub fn derived<K: KeyField, P: Serialize>(key: &K, payload: &P) -> Derived {
    let tenant = Tenant::parse("acme").unwrap();
    derive(
        &Input {
            action: "test",
            key,
            payload,
        },
        Some(&tenant),
    )
    .unwrap()
}

/// Any serde value as a key field, through the serializer.
pub struct Through<T>(pub T);

impl<T: Serialize> KeyField for Through<T> {
    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.serialize(&self.0)
    }
}
