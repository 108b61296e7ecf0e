use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::canonical::{self, CanonicalError, CanonicalErrorKind};
use crate::key::IdempotencyKey;

/// Whether an outcome is a result or a final error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// The effect happened; the outcome is its result.
    Success,
    /// The effect was declined for good; the outcome is the final error's value.
    Declined,
    /// The effect is on record under another key, which the outcome names.
    Alias,
}

/// The recorded outcome of an effect, as every repeat gets it.
///
/// Bytes are kept as the codec gave them ([`OutcomeCodec`](crate::OutcomeCodec)), and replayed as they were. An outcome
/// whose bytes were too large to keep, or are not kept by choice, has none: the effect stands, its result is
/// unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    kind: OutcomeKind,
    bytes: Option<Vec<u8>>,
    type_tag: String,
    codec: String,
}

/// The type tag of values written by serde as JSON.
const JSON: &str = "json";
/// The type tag of an alias.
const KEY: &str = "key";
/// The codec that keeps bytes as they are.
pub(crate) const IDENTITY: &str = "identity";
/// In place of a codec where the bytes were not kept by choice.
pub(crate) const DISCARDED: &str = "discarded";

impl Outcome {
    /// Encodes a value as JSON.
    ///
    /// # Errors
    ///
    /// Fails when `value` cannot be written as JSON, or would not read back as what it is: NaN and infinities, `Some`
    /// of nothing, repeated member names, more than 127 levels of nesting. The error has the path.
    pub fn encode<T: Serialize + ?Sized>(kind: OutcomeKind, value: &T) -> Result<Self, CanonicalError> {
        canonical::check_lossless(value)?;
        let bytes = serde_json::to_vec(value)
            .map_err(|error| CanonicalError::new(CanonicalErrorKind::Serialize, error.to_string()))?;
        Ok(Self {
            kind,
            bytes: Some(bytes),
            type_tag: JSON.into(),
            codec: IDENTITY.into(),
        })
    }

    /// The outcome of an effect that stands although its result could not be encoded.
    #[must_use]
    pub fn unavailable(kind: OutcomeKind) -> Self {
        Self {
            kind,
            bytes: None,
            type_tag: JSON.into(),
            codec: IDENTITY.into(),
        }
    }

    /// What is recorded under a key whose effect is on record under `key`.
    pub(crate) fn alias(key: &IdempotencyKey) -> Self {
        Self {
            kind: OutcomeKind::Alias,
            bytes: Some(key.as_str().into()),
            type_tag: KEY.into(),
            codec: IDENTITY.into(),
        }
    }

    /// The key that an alias names; `None` also when what is stored names none.
    #[must_use]
    pub fn alias_of(&self) -> Option<IdempotencyKey> {
        let text = self.bytes.as_deref().filter(|_| self.kind == OutcomeKind::Alias)?;
        IdempotencyKey::parse(std::str::from_utf8(text).ok()?).ok()
    }

    /// An outcome from its stored parts; `bytes` is `None` when they were not kept.
    #[must_use]
    pub fn from_stored(kind: OutcomeKind, bytes: Option<Vec<u8>>, type_tag: String, codec: String) -> Self {
        Self {
            kind,
            bytes,
            type_tag,
            codec,
        }
    }

    /// Reads the value back; `None` when the bytes were not kept.
    ///
    /// # Errors
    ///
    /// Fails when the bytes were written in a form that this build does not read, or do not fit `T`. Bytes that went
    /// through a codec are opened first, by [`Idem::open_outcome`](crate::Idem::open_outcome).
    pub fn decode<T: DeserializeOwned>(&self) -> Option<Result<T, Box<dyn std::error::Error + Send + Sync>>> {
        let bytes = self.bytes.as_deref()?;
        if self.type_tag != JSON || self.codec != IDENTITY {
            let found = format!(
                "it was stored as `{}` with codec `{}`, this build reads `{JSON}` with `{IDENTITY}`",
                self.type_tag, self.codec
            );
            return Some(Err(found.into()));
        }
        Some(serde_json::from_slice(bytes).map_err(Into::into))
    }

    /// Drops the bytes if there are more than `limit`; whether it did.
    pub(crate) fn limit(&mut self, limit: usize) -> bool {
        let too_large = self.bytes.as_ref().is_some_and(|bytes| bytes.len() > limit);
        if too_large {
            self.bytes = None;
        }
        too_large
    }

    /// Kind, bytes and type tag.
    pub(crate) fn into_parts(self) -> (OutcomeKind, Option<Vec<u8>>, String) {
        (self.kind, self.bytes, self.type_tag)
    }

    /// Whether the bytes were not kept by choice.
    pub(crate) fn is_discarded(&self) -> bool {
        self.bytes.is_none() && self.codec == DISCARDED
    }

    /// Result or final error.
    #[must_use]
    pub fn kind(&self) -> OutcomeKind {
        self.kind
    }

    /// The stored bytes; `None` when they were not kept.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// How the bytes are to be read: `json` for values written by serde.
    #[must_use]
    pub fn type_tag(&self) -> &str {
        &self.type_tag
    }

    /// The codec that the bytes went through.
    #[must_use]
    pub fn codec(&self) -> &str {
        &self.codec
    }

    /// SHA-256 of the bytes as they are stored, for the ledger; `None` when they were not kept.
    #[must_use]
    pub fn digest(&self) -> Option<[u8; 32]> {
        Some(Sha256::digest(self.bytes.as_deref()?).into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> T {
        let outcome = Outcome::encode(OutcomeKind::Success, value).expect("it can be written");
        outcome.decode().expect("the bytes are kept").expect("they can be read")
    }

    #[test]
    fn every_double_reads_back_as_it_was_written() {
        let mut bits: u64 = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..20_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                assert_eq!(round_trip(&value).to_bits(), value.to_bits(), "{value:e}");
            }
        }
        assert_eq!(round_trip(&-5.367_275_203_482_851e38_f64), -5.367_275_203_482_851e38);
    }

    #[test]
    fn what_json_would_give_back_as_something_else_is_refused_with_its_path() {
        fn refused<T: Serialize>(value: T) -> String {
            Outcome::encode(OutcomeKind::Success, &value)
                .expect_err("refused")
                .to_string()
        }
        assert!(refused(Some(f64::NAN)).contains("NaN"));
        assert!(refused(BTreeMap::from([("ratio", vec![0.5, f64::INFINITY])])).contains("ratio[1]"));
        assert!(refused(Some(())).contains("`None`"));
        assert!(refused(Some(None::<u8>)).contains("`None`"));
        assert!(refused(BTreeMap::from([((1, 2), 3)])).contains("name"));
        let mut deep = serde_json::Value::Null;
        for _ in 0..200 {
            deep = serde_json::Value::from(vec![deep]);
        }
        assert!(refused(deep).contains("127 levels"));
    }

    #[test]
    fn what_reads_back_is_kept() {
        assert_eq!(round_trip(&(Some(1_u8), None::<u8>, ())), (Some(1), None, ()));
        assert_eq!(round_trip(&u128::MAX), u128::MAX);
        assert_eq!(round_trip(&vec![0_u8, 255]), [0, 255]);
        let large = "x".repeat(3 << 20);
        assert_eq!(round_trip(&large), large);
    }
}
