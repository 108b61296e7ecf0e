use std::sync::Arc;

use super::{CodecContext, CodecError, Encoded, OutcomeCodec, Retain};
use crate::key::IdempotencyKey;
use crate::record::{DISCARDED, IDENTITY, Outcome};

/// How the outcomes of one call are kept and read.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    pub(crate) codec: Arc<dyn OutcomeCodec>,
    pub(crate) retain: Retain,
    /// Of the stored bytes.
    pub(crate) limit: usize,
    /// Whether a ledger gets the digest of what is kept.
    pub(crate) digests: bool,
}

/// An outcome in the form in which it is stored. Made by a [`Keeper`] alone, and the only form that a completion
/// takes, so nothing is recorded past the codec.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) outcome: Outcome,
    /// For the ledger, if there is one.
    pub(crate) digest: Option<[u8; 32]>,
}

impl Keeper {
    /// Brings an outcome into the form in which it is stored.
    ///
    /// # Errors
    ///
    /// Fails when the codec does.
    pub(crate) fn keep(&self, key: &IdempotencyKey, outcome: Outcome) -> Result<Kept, CodecError> {
        let (kind, bytes, type_tag) = outcome.into_parts();
        let Some(bytes) = bytes else {
            return Ok(Kept {
                outcome: Outcome::unavailable(kind),
                digest: None,
            });
        };
        let context = CodecContext {
            key,
            kind,
            type_tag: &type_tag,
        };
        let Encoded { codec, bytes } = self.codec.encode(&context, bytes)?;
        check_name(&codec)?;
        let mut outcome = Outcome::from_stored(kind, Some(bytes), type_tag, codec);
        let mut digest = self.digests.then(|| outcome.digest()).flatten();
        if self.retain == Retain::DigestOnly {
            let (kind, _, type_tag) = outcome.into_parts();
            outcome = Outcome::from_stored(kind, None, type_tag, DISCARDED.into());
        } else if outcome.limit(self.limit) {
            digest = None;
            tracing::warn!(
                key = key.short(),
                limit = self.limit,
                "the outcome is too large to keep; repeats will not get it"
            );
        }
        Ok(Kept { outcome, digest })
    }

    /// Brings a stored outcome back into the form in which its value is read. One whose bytes were not kept stays
    /// as it is.
    ///
    /// # Errors
    ///
    /// Fails when the codec does not know the outcome, or refuses it.
    pub(crate) fn open(&self, key: &IdempotencyKey, outcome: Outcome) -> Result<Outcome, CodecError> {
        let Some(bytes) = outcome.bytes() else {
            return Ok(outcome);
        };
        let (kind, type_tag) = (outcome.kind(), outcome.type_tag());
        if outcome.codec() == IDENTITY {
            return match self.codec.reads_plain() {
                true => Ok(outcome),
                false => Err(CodecError::new(
                    "it was kept as it is, which the codec that is set does not accept any more",
                )),
            };
        }
        let context = CodecContext { key, kind, type_tag };
        let bytes = self.codec.decode(&context, outcome.codec(), bytes)?;
        Ok(Outcome::from_stored(
            kind,
            Some(bytes),
            type_tag.to_owned(),
            IDENTITY.into(),
        ))
    }
}

impl Kept {
    /// The outcome of an effect that stands although its result could not be encoded.
    pub(crate) fn unavailable(outcome: &Outcome) -> Self {
        Self {
            outcome: Outcome::unavailable(outcome.kind()),
            digest: None,
        }
    }
}

/// Some storages take no U+0000 in text, and a reserved name would be read as what it is not.
fn check_name(codec: &str) -> Result<(), CodecError> {
    if codec.is_empty() || codec.len() > LONGEST_NAME || codec.contains('\0') || codec == DISCARDED {
        return Err(CodecError::new(format!(
            "a codec cannot be called {codec:?}: its name has 1 to {LONGEST_NAME} bytes, no U+0000, and is not `{DISCARDED}`"
        )));
    }
    Ok(())
}

/// In bytes.
const LONGEST_NAME: usize = 255;
