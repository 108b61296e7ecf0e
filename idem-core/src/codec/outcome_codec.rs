use std::fmt;

use super::{CodecContext, CodecError};

/// What outcomes go through on their way into the store and back: encryption, redaction, compression.
///
/// Set by [`Settings::outcome_codec`](crate::Settings::outcome_codec); without one, outcomes are kept as they are.
/// The executor calls it for every outcome, results and final errors, in every mode. It runs on the
/// task of the call, so it must not block; a codec with remote keys fetches them beforehand.
///
/// The ledger's digest of an outcome is SHA-256 of the bytes that the codec gave, not of the value: where the
/// codec encrypts with a random nonce it tells nothing about a value that could be guessed.
///
/// # Examples
///
/// A codec that keeps no card numbers. What it keeps reads back as what it is, so `decode` has nothing to undo.
///
/// ```
/// use std::sync::Arc;
/// use idem_core::{CodecContext, CodecError, Encoded, Idem, MemoryStore, OutcomeCodec, Settings};
///
/// #[derive(Debug)]
/// struct WithoutCards;
///
/// impl OutcomeCodec for WithoutCards {
///     fn encode(&self, _: &CodecContext<'_>, bytes: Vec<u8>) -> Result<Encoded, CodecError> {
///         let text = String::from_utf8(bytes).map_err(|error| CodecError::new("it is not text").with_source(error))?;
///         Ok(Encoded::new("without-cards", text.replace("4111", "****").into_bytes()))
///     }
///
///     fn decode(&self, _: &CodecContext<'_>, codec: &str, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
///         match codec {
///             "without-cards" => Ok(bytes.to_vec()),
///             other => Err(CodecError::new(format!("it was kept by `{other}`, which is not set"))),
///         }
///     }
/// }
///
/// let settings = Settings::default().outcome_codec(Arc::new(WithoutCards));
/// assert!(Idem::with_settings(MemoryStore::new(), settings).is_ok());
/// ```
pub trait OutcomeCodec: fmt::Debug + Send + Sync + 'static {
    /// Turns the bytes of an outcome into what is stored, with the name by which [`decode`](Self::decode) will
    /// know them: the codec, and the id of its key where it has one.
    ///
    /// A transaction that is run again encodes again.
    ///
    /// # Errors
    ///
    /// In a transaction nothing is committed then, and the call fails with kind
    /// [`Store`](crate::ErrorKind::Store). After an outside effect, which stands, the outcome is recorded as not
    /// available.
    fn encode(&self, context: &CodecContext<'_>, bytes: Vec<u8>) -> Result<Encoded, CodecError>;

    /// Turns stored bytes back. `codec` is the name that they were stored with, which may be that of a codec that
    /// was set before; never that of outcomes kept as they are.
    ///
    /// # Errors
    ///
    /// The call fails with kind [`ResultUnavailable`](crate::ErrorKind::ResultUnavailable) then, with the text of
    /// the error; the effect stands and is not run again.
    fn decode(&self, context: &CodecContext<'_>, codec: &str, bytes: &[u8]) -> Result<Vec<u8>, CodecError>;

    /// Whether outcomes that were kept as they are, before this codec was set, are still read. Default: yes.
    ///
    /// Whoever can write to the database can then put an outcome there that this codec would refuse, under the
    /// name of one that was kept as it is. Say no when all of those have expired.
    fn reads_plain(&self) -> bool {
        true
    }
}

/// What a codec made of an outcome, and the name by which it will know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    pub(super) codec: String,
    pub(super) bytes: Vec<u8>,
}

impl Encoded {
    /// Bytes under the name of a codec, with the id of its key where it has one: 1 to 255 bytes without U+0000.
    #[must_use]
    pub fn new(codec: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            codec: codec.into(),
            bytes,
        }
    }

    /// Bytes kept as they are, which need no codec to be read.
    #[must_use]
    pub fn plain(bytes: Vec<u8>) -> Self {
        Self::new(crate::record::IDENTITY, bytes)
    }

    /// The name.
    #[must_use]
    pub fn codec(&self) -> &str {
        &self.codec
    }

    /// What is stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Keeps outcomes as they are.
#[derive(Debug)]
pub(crate) struct Identity;

impl OutcomeCodec for Identity {
    fn encode(&self, _: &CodecContext<'_>, bytes: Vec<u8>) -> Result<Encoded, CodecError> {
        Ok(Encoded::plain(bytes))
    }

    fn decode(&self, _: &CodecContext<'_>, codec: &str, _: &[u8]) -> Result<Vec<u8>, CodecError> {
        Err(CodecError::new(format!(
            "it was stored by the codec `{codec}`, and no codec is set; set the one that wrote it, with its key, by `Settings::outcome_codec`"
        )))
    }
}
