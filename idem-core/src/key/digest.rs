//! Content by its SHA-256.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
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

    pub(crate) fn encode<'b>(&self, buffer: &'b mut [u8; 64]) -> &'b str {
        for (pair, byte) in buffer.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
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

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

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
