use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Whether an outcome is a result or a final error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// The effect happened; the outcome is its result.
    Success,
    /// The effect was declined for good; the outcome is the final error's value.
    Declined,
}

/// The recorded outcome of an effect, as every repeat gets it.
///
/// Bytes are kept and replayed as they are. An outcome whose bytes were too large to keep has none:
/// the effect stands, its result is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    kind: OutcomeKind,
    bytes: Option<Vec<u8>>,
    type_tag: String,
    codec: String,
}

/// The type tag of values written by serde as JSON.
const JSON: &str = "json";
/// The codec that keeps bytes as they are.
const IDENTITY: &str = "identity";

impl Outcome {
    /// Encodes a value as JSON.
    ///
    /// # Errors
    ///
    /// Fails when `value` cannot be written as JSON.
    pub fn encode<T: Serialize + ?Sized>(kind: OutcomeKind, value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self {
            kind,
            bytes: Some(serde_json::to_vec(value)?),
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
    /// Fails when the bytes were written in a form that this build does not read, or do not fit `T`.
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

    /// SHA-256 of the bytes, for the ledger; `None` when they were not kept.
    #[must_use]
    pub fn digest(&self) -> Option<[u8; 32]> {
        Some(Sha256::digest(self.bytes.as_deref()?).into())
    }
}
