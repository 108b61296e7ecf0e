//! Same key, different request: how the two are told apart.

use std::fmt;

use subtle::ConstantTimeEq;

use super::Digest;

/// What a repeat under the same key must agree with: SHA-256 over action, key and payload, and the version of the rule
/// it was computed by.
///
/// Two fingerprints are compared in constant time, whichever way they are compared.
///
/// # Examples
///
/// ```
/// use idem_core::Fingerprint;
///
/// let stored = Fingerprint::from_stored(Fingerprint::VERSION, [7; 32]);
/// assert_eq!(stored, Fingerprint::from_stored(Fingerprint::VERSION, [7; 32]));
/// assert_ne!(stored, Fingerprint::from_stored(Fingerprint::VERSION, [8; 32]));
/// ```
#[derive(Clone)]
pub struct Fingerprint {
    version: u8,
    sha256: [u8; 32],
}

impl Fingerprint {
    /// The version of the rule that this code computes by.
    pub const VERSION: u8 = 1;

    /// Takes a fingerprint read from a store.
    pub const fn from_stored(version: u8, sha256: [u8; 32]) -> Self {
        Self { version, sha256 }
    }

    /// Returns the version of the rule it was computed by. Fingerprints of different versions are never equal.
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// Takes the digest of the canonical form of action, key and payload.
    pub(crate) fn of(digest: &Digest) -> Self {
        Self::from_stored(Self::VERSION, *digest.as_bytes())
    }
}

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        (self.version.ct_eq(&other.version) & self.sha256.ct_eq(&other.sha256)).into()
    }
}

impl Eq for Fingerprint {}

/// Shows 8 hex digits, since what is printed for debugging ends up in logs.
impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Fingerprint(v{} {}…)",
            self.version,
            &Digest::from_bytes(self.sha256).to_string()[..8]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_another_fingerprint() {
        assert_ne!(
            Fingerprint::from_stored(1, [0; 32]),
            Fingerprint::from_stored(2, [0; 32])
        );
    }
}
