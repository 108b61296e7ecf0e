use crate::key::{IdempotencyKey, Tenant};
use crate::record::OutcomeKind;

/// Which outcome a codec is asked about: the same when it is encoded and when it is decoded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CodecContext<'a> {
    /// The key whose outcome it is.
    pub key: &'a IdempotencyKey,
    /// Result or final error.
    pub kind: OutcomeKind,
    /// How the bytes are to be read: `json` for values written by serde.
    pub type_tag: &'a str,
}

impl<'a> CodecContext<'a> {
    /// Describes an outcome; for tests of codecs.
    #[must_use]
    pub const fn new(key: &'a IdempotencyKey, kind: OutcomeKind, type_tag: &'a str) -> Self {
        Self { key, kind, type_tag }
    }

    /// Whose outcome it is: what a codec with a key for each tenant asks.
    #[must_use]
    pub fn tenant(&self) -> &'a Tenant {
        self.key.tenant()
    }

    /// What an authenticated cipher has to bind the outcome to, so that it decrypts in its own record and in no
    /// other: tenant, key, kind and type tag, each behind its length.
    ///
    /// # Examples
    ///
    /// ```
    /// use idem_core::{CodecContext, IdempotencyKey, OutcomeKind};
    ///
    /// let key: IdempotencyKey = "dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2".parse()?;
    /// let result = CodecContext::new(&key, OutcomeKind::Success, "json").associated_data();
    /// let declined = CodecContext::new(&key, OutcomeKind::Declined, "json").associated_data();
    /// assert!(result.starts_with(b"idem.outcome.1"));
    /// assert_ne!(result, declined);
    /// # Ok::<(), idem_core::KeyError>(())
    /// ```
    #[must_use]
    pub fn associated_data(&self) -> Vec<u8> {
        let kind = match self.kind {
            OutcomeKind::Success => "success",
            OutcomeKind::Declined => "declined",
            OutcomeKind::Alias => "alias",
        };
        let mut data = FORMAT.to_vec();
        for part in [self.tenant().as_str(), self.key.as_str(), kind, self.type_tag] {
            // Lengths tell `a` + `bc` from `ab` + `c`.
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

/// Changes whenever what follows it does, since nothing that was written before would decrypt any more.
const FORMAT: &[u8] = b"idem.outcome.1";
