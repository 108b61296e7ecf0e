//! Content by its SHA-256.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};

use super::canonical::{CanonicalError, CanonicalWriter};
use super::{KeyError, KeyField, Shape};

/// The SHA-256 of some content: how an upload, a prompt template or a document becomes part of a key.
///
/// It is written as 64 lower-case hex digits.
///
/// # Examples
///
/// ```
/// use idem_core::Digest;
///
/// let digest = Digest::of(b"hello");
/// assert!(digest.to_string().starts_with("2cf24dba5fb0a30e"));
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of some content.
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Computes the digest of a form, which is short. It drives the block function itself, because what a general hasher
    /// does around it costs as much as a block.
    pub(crate) fn of_form(form: &[u8]) -> Self {
        let mut state = INITIAL;
        let (blocks, rest) = form.as_chunks();
        compress256(&mut state, blocks);
        let mut last = [[0; BLOCK]; 2];
        last[0][..rest.len()].copy_from_slice(rest);
        last[0][rest.len()] = 0x80;
        // The length in bits takes the last 8 bytes.
        let count = 1 + usize::from(rest.len() >= BLOCK - 8);
        last[count - 1][BLOCK - 8..].copy_from_slice(&(form.len() as u64 * 8).to_be_bytes());
        compress256(&mut state, &last[..count]);
        let mut digest = [0; 32];
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = word.to_be_bytes();
        }
        Self(digest)
    }

    /// Takes a SHA-256 computed elsewhere.
    pub const fn from_bytes(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes the digest of the parts put together.
    pub(crate) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        parts.iter().for_each(|part| hash.update(part));
        Self(hash.finalize().into())
    }

    /// Writes as many hex digits as the buffer takes.
    pub(crate) fn encode<'b, const DIGITS: usize>(&self, buffer: &'b mut [u8; DIGITS]) -> &'b str {
        for (pair, byte) in buffer.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
        }
        // Hex digits are ASCII, so this never falls back.
        std::str::from_utf8(buffer).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encode(&mut [0; 64]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = KeyError;

    /// Reads 64 hex digits; upper-case ones name the same digest.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        let nibble = |byte: u8| char::from(byte).to_digit(16);
        let complete = text.len() == 64
            && bytes
                .iter_mut()
                .zip(text.as_bytes().chunks_exact(2))
                .all(|(byte, pair)| {
                    match (nibble(pair[0]), nibble(pair[1])) {
                        (Some(high), Some(low)) => {
                            // Two hex digits make one byte.
                            *byte = (high << 4 | low) as u8;
                            true
                        }
                        _ => false,
                    }
                });
        match complete {
            true => Ok(Self(bytes)),
            false => Err(KeyError::malformed("a SHA-256 is 64 hex digits, without a prefix")),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl KeyField for Digest {
    const SHAPE: Shape = Shape::scalar("sha256");

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(self.encode(&mut [0; 64]))
    }
}

/// The block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// The state that SHA-256 begins with.
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_hashed_as_anything_is() {
        let content: Vec<u8> = (0..400).map(|index| (index * 7 % 251) as u8).collect();
        for length in 0..content.len() {
            let form = &content[..length];
            assert_eq!(Digest::of_form(form), Digest::of(form), "{length}");
        }
    }

    #[test]
    fn hex_is_read_strictly() {
        let hex = Digest::of("x").to_string();
        assert_eq!(hex.to_uppercase().parse::<Digest>().unwrap().to_string(), hex);
        for bad in [
            "",
            &hex[..63],
            &format!("{hex}0"),
            &format!("sha256:{hex}"),
            &hex.replace(&hex[..1], "g"),
            "é",
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
