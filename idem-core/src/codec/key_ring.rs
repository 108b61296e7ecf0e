use std::collections::BTreeMap;
use std::fmt;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::{CodecContext, CodecError, Encoded, OutcomeCodec};
use crate::clock::random_bytes;

/// Encrypts outcomes with XChaCha20-Poly1305, under one key for what is written and any number for what is read.
///
/// The cipher is the ChaCha20-Poly1305 of [RFC 8439](https://www.rfc-editor.org/rfc/rfc8439) with the extended
/// nonce of [draft-irtf-cfrg-xchacha](https://datatracker.ietf.org/doc/html/draft-irtf-cfrg-xchacha-03). What is
/// stored is a random nonce of 24 bytes, the ciphertext and a tag of 16 bytes, under the name
/// `xchacha20poly1305:<key id>`. The
/// [associated data](CodecContext::associated_data) are tenant, key, kind and type of the outcome: a ciphertext that
/// was changed, or moved into another record, does not decrypt. Neither does one whose key is not in
/// the ring: such an outcome is [`ResultUnavailable`](crate::ErrorKind::ResultUnavailable), its effect stands
/// and is not run again.
///
/// It hides what an effect returned, not that it happened, nor how long its result is. Key, fingerprint and the
/// ledger's detail are not encrypted.
///
/// Keys are cleared from memory when the ring is dropped; clear your own copies.
///
/// # Rotation
///
/// Give the new key to every process as an older one first, then make it the current one, and drop the key before it
/// when the last outcome that was written with it has expired (90 days by default; revoked effects keep theirs as
/// long).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use idem_core::{Idem, KeyRing, MemoryStore, Settings};
///
/// # fn secret(_: &str) -> [u8; 32] { [7; 32] }
/// let ring = KeyRing::new("2026-08", &secret("2026-08"))?.with_older("2026-02", &secret("2026-02"))?;
/// assert_eq!(format!("{ring:?}"), r#"KeyRing { current: "2026-08", older: ["2026-02"] }"#);
/// let settings = Settings::default().outcome_codec(Arc::new(ring));
/// let idem = Idem::with_settings(MemoryStore::new(), settings)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyRing {
    current: String,
    ciphers: BTreeMap<String, XChaCha20Poly1305>,
    refuses_plain: bool,
}

impl KeyRing {
    /// A ring with one key, for writing and for reading.
    ///
    /// `id` is stored beside each outcome and is not secret: 1 to 64 of `A`-`Z`, `a`-`z`, `0`-`9`, `.`, `_` and
    /// `-`. The key has to be random; a password is not a key. An id must never be given to another key.
    ///
    /// # Errors
    ///
    /// Fails when `id` is none.
    pub fn new(id: impl Into<String>, key: &[u8; 32]) -> Result<Self, CodecError> {
        let id = id.into();
        let ring = Self {
            current: id.clone(),
            ciphers: BTreeMap::new(),
            refuses_plain: false,
        };
        ring.with_older(id, key)
    }

    /// Adds a key that is only read with: one that was written with before, or one that will be.
    ///
    /// # Errors
    ///
    /// Fails when `id` is none, or is in the ring.
    pub fn with_older(mut self, id: impl Into<String>, key: &[u8; 32]) -> Result<Self, CodecError> {
        let id = id.into();
        check_id(&id)?;
        if self.ciphers.contains_key(&id) {
            return Err(CodecError::new(format!("the key ring has a key `{id}` already")));
        }
        self.ciphers.insert(id, XChaCha20Poly1305::new(key.into()));
        Ok(self)
    }

    /// Refuses outcomes that were kept unencrypted before. Default: they are read.
    ///
    /// Set it when all of those have expired: from then on nobody who can write to the database but lacks the keys
    /// can put a result there that is replayed.
    #[must_use]
    pub fn refuse_plain(mut self) -> Self {
        self.refuses_plain = true;
        self
    }
}

impl OutcomeCodec for KeyRing {
    fn encode(&self, context: &CodecContext<'_>, bytes: Vec<u8>) -> Result<Encoded, CodecError> {
        let unencrypted = |why: &str| CodecError::new(format!("it could not be encrypted: {why}"));
        let id = &self.current;
        let cipher = self.ciphers.get(id).ok_or_else(|| unencrypted("there is no key"))?;
        // With 192 random bits no two nonces of a key are ever equal.
        let nonce = random_bytes::<NONCE>().map_err(|error| unencrypted("there is no nonce").with_source(error))?;
        let payload = Payload {
            msg: &bytes,
            aad: &context.associated_data(),
        };
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| unencrypted("it is longer than the cipher takes"))?;
        let stored = [&nonce[..], &sealed].concat();
        Ok(Encoded::new(format!("{CIPHER}:{id}"), stored))
    }

    fn decode(&self, context: &CodecContext<'_>, codec: &str, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        let id = codec.strip_prefix(CIPHER).and_then(|rest| rest.strip_prefix(':'));
        let Some(id) = id else {
            return Err(CodecError::new(format!(
                "it was stored by the codec `{codec}`, and the one that is set reads `{CIPHER}`; set the codec that wrote it"
            )));
        };
        let Some(cipher) = self.ciphers.get(id) else {
            return Err(CodecError::new(format!(
                "it was encrypted with the key `{id}`, which is not in the key ring; add that key by `KeyRing::with_older`, or look the effect up by its ledger entry"
            )));
        };
        let refused = || {
            CodecError::new(format!(
                "it does not decrypt with the key `{id}`: it was changed or moved from another record, or another key had that id; look the effect up by its ledger entry"
            ))
        };
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or_else(refused)?;
        let payload = Payload {
            msg: sealed,
            aad: &context.associated_data(),
        };
        cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| refused())
    }

    fn reads_plain(&self) -> bool {
        !self.refuses_plain
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<&String> = self.ciphers.keys().filter(|id| **id != self.current).collect();
        f.debug_struct("KeyRing")
            .field("current", &self.current)
            .field("older", &older)
            .finish()
    }
}

fn check_id(id: &str) -> Result<(), CodecError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(fits) {
        return Err(CodecError::new(format!(
            "the id of a key has 1 to {LONGEST_ID} of `A`-`Z`, `a`-`z`, `0`-`9`, `.`, `_` and `-`, and not {id:?}"
        )));
    }
    Ok(())
}

/// What outcomes are stored under, before the id of the key.
const CIPHER: &str = "xchacha20poly1305";
/// In bytes.
const NONCE: usize = 24;
const LONGEST_ID: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::IdempotencyKey;
    use crate::record::OutcomeKind;

    fn key(digit: char) -> IdempotencyKey {
        let text = format!("dk_acme_{}", digit.to_string().repeat(40));
        text.parse().expect("a key")
    }

    fn ring(id: &str) -> KeyRing {
        KeyRing::new(id, &[id.len() as u8; 32]).expect("an id")
    }

    fn why(result: Result<Vec<u8>, CodecError>) -> String {
        result.expect_err("refused").to_string()
    }

    #[test]
    fn what_is_written_reads_back_in_its_own_record_and_in_no_other() {
        let (ring, own, other) = (ring("k1"), key('a'), key('b'));
        let context = CodecContext::new(&own, OutcomeKind::Success, "json");
        let encoded = ring.encode(&context, b"a secret".to_vec()).expect("encrypted");
        assert_eq!(encoded.codec(), "xchacha20poly1305:k1");
        assert_eq!(encoded.bytes().len(), 24 + 8 + 16);
        let again = ring.encode(&context, b"a secret".to_vec()).expect("encrypted");
        assert_ne!(encoded.bytes(), again.bytes(), "each has a nonce of its own");

        let decode = |context: &CodecContext<'_>| ring.decode(context, encoded.codec(), encoded.bytes());
        assert_eq!(decode(&context).expect("decrypted"), b"a secret");
        for moved in [
            CodecContext::new(&other, OutcomeKind::Success, "json"),
            CodecContext::new(&own, OutcomeKind::Declined, "json"),
            CodecContext::new(&own, OutcomeKind::Success, "text"),
        ] {
            assert!(why(decode(&moved)).contains("moved from another record"), "{moved:?}");
        }
    }

    #[test]
    fn what_was_changed_does_not_decrypt() {
        let (ring, own) = (ring("k1"), key('a'));
        let context = CodecContext::new(&own, OutcomeKind::Success, "json");
        let encoded = ring.encode(&context, b"a secret".to_vec()).expect("encrypted");
        for at in 0..encoded.bytes().len() {
            let mut bytes = encoded.bytes().to_vec();
            bytes[at] ^= 1;
            assert!(
                why(ring.decode(&context, encoded.codec(), &bytes)).contains("`k1`"),
                "byte {at}"
            );
        }
        for length in 0..encoded.bytes().len() {
            assert!(
                ring.decode(&context, encoded.codec(), &encoded.bytes()[..length])
                    .is_err(),
                "cut to {length}"
            );
        }
    }

    #[test]
    fn a_key_is_rotated_and_a_lost_one_is_named() {
        let own = key('a');
        let context = CodecContext::new(&own, OutcomeKind::Success, "json");
        let old = ring("k1").encode(&context, b"a secret".to_vec()).expect("encrypted");
        let rotated = ring("key-2").with_older("k1", &[2; 32]).expect("another id");
        assert_eq!(
            rotated.decode(&context, old.codec(), old.bytes()).expect("decrypted"),
            b"a secret"
        );
        let new = rotated.encode(&context, b"a secret".to_vec()).expect("encrypted");
        assert_eq!(new.codec(), "xchacha20poly1305:key-2");
        let lost = why(ring("key-2").decode(&context, old.codec(), old.bytes()));
        assert!(lost.contains("`k1`") && lost.contains("KeyRing::with_older"), "{lost}");
        let reused = KeyRing::new("k1", &[9; 32]).expect("an id");
        assert!(why(reused.decode(&context, old.codec(), old.bytes())).contains("another key had that id"));
        let foreign = why(rotated.decode(&context, "rot13", b"n frperg"));
        assert!(foreign.contains("`rot13`"), "{foreign}");
    }

    #[test]
    fn an_id_is_a_word_and_has_one_key() {
        for id in ["", "a b", "k:1", "schlüssel", &"k".repeat(65)] {
            assert!(KeyRing::new(id, &[0; 32]).is_err(), "{id}");
        }
        assert!(ring("k1").with_older("k1", &[0; 32]).is_err());
    }

    #[test]
    fn a_ring_shows_the_ids_of_its_keys_and_nothing_else() {
        let ring = KeyRing::new("k1", &[0xab; 32]).expect("an id");
        assert_eq!(format!("{ring:?}"), r#"KeyRing { current: "k1", older: [] }"#);
    }

    /// Section A.3.1 of the draft.
    #[test]
    fn the_cipher_is_that_of_the_draft() {
        let key: [u8; 32] = std::array::from_fn(|at| 0x80 + at as u8);
        let nonce: [u8; 24] = std::array::from_fn(|at| 0x40 + at as u8);
        let aad = &[0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let msg = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let tag = [
            0xc0, 0x87, 0x59, 0x24, 0xc1, 0xc7, 0x98, 0x79, 0x47, 0xde, 0xaf, 0xd8, 0x78, 0x0a, 0xcf, 0x49,
        ];
        let sealed = XChaCha20Poly1305::new(&key.into())
            .encrypt(&nonce.into(), Payload { msg, aad })
            .expect("encrypted");
        assert!(sealed.starts_with(&[0xbd, 0x6d, 0x17, 0x9d]));
        assert_eq!(sealed[msg.len()..], tag);
    }
}
