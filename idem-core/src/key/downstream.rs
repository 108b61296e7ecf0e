//! Identifiers for other systems, derived from a key and its generation.
//!
//! Each is a version 5 UUID in [`NAMESPACE`] over the canonical form of an array:
//!
//! | identifier | array |
//! |---|---|
//! | [`to_uuid`](IdempotencyKey::to_uuid) | `["key", tenant, key]` |
//! | [`row_id`](IdempotencyKey::row_id) | `["row", tenant, key, generation]` |
//! | [`downstream_key`](IdempotencyKey::downstream_key) | `["downstream", tenant, key, generation]` |
//! | [`child`](IdempotencyKey::child) | `["child", tenant, key, generation, name]` |
//!
//! The generation counts how often a key was revoked and reopened; it starts at 1. `vectors/keys.jsonl` has examples.

use serde::Serialize;
use uuid::Uuid;

use super::IdempotencyKey;
use super::canonical::{CanonicalError, CanonicalWriter, Mode};

impl IdempotencyKey {
    /// The namespace of the identifiers below: UUIDv5 of `urn:idem:v1` in the URL namespace.
    pub const NAMESPACE: Uuid = NAMESPACE;

    /// Returns the key as a UUID: UUIDv5 over `["key", tenant, key]`.
    ///
    /// It is the same in every generation, and has no tenant in clear inside.
    pub fn to_uuid(&self) -> Uuid {
        self.derive_uuid(&("key", self.tenant(), self.as_str()))
    }

    /// Returns the identifier for a row that the effect inserts: UUIDv5 over `["row", tenant, key, generation]`.
    pub fn row_id(&self, generation: u32) -> Uuid {
        self.derive_uuid(&("row", self.tenant(), self.as_str(), generation))
    }

    /// Returns the idempotency key for a call to another system, 36 characters: UUIDv5 over
    /// `["downstream", tenant, key, generation]`.
    pub fn downstream_key(&self, generation: u32) -> Uuid {
        self.derive_uuid(&("downstream", self.tenant(), self.as_str(), generation))
    }

    /// Returns the idempotency key for one of several calls to other systems: UUIDv5 over
    /// `["child", tenant, key, generation, name]`.
    pub fn child(&self, generation: u32, name: &str) -> Uuid {
        self.derive_uuid(&("child", self.tenant(), self.as_str(), generation, name))
    }

    fn derive_uuid(&self, parts: &impl Serialize) -> Uuid {
        Uuid::new_v5(&NAMESPACE, &array(parts).unwrap_or_default())
    }
}

/// The parts are strings and a 32-bit integer, so only a name beyond 1 MiB could have no form.
fn array(parts: &impl Serialize) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = CanonicalWriter::new(Mode::Key);
    writer.serialize(parts)?;
    writer.finish()
}

const NAMESPACE: Uuid = Uuid::from_u128(0xa72f8bf3eaf05b9486d5c48885ef8fdb);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_what_its_documentation_says() {
        assert_eq!(NAMESPACE, Uuid::new_v5(&Uuid::NAMESPACE_URL, b"urn:idem:v1"));
    }

    #[test]
    fn identifiers_differ_by_purpose_generation_and_name() {
        let key = IdempotencyKey::parse("dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2").unwrap();
        let all = [
            key.to_uuid(),
            key.row_id(1),
            key.row_id(2),
            key.downstream_key(1),
            key.downstream_key(2),
            key.child(1, "a"),
            key.child(2, "a"),
            key.child(1, "b"),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|uuid| uuid.get_version_num() == 5));
    }
}
