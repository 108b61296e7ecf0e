use std::fmt;

use subtle::ConstantTimeEq;

use crate::clock::random_bytes;
use crate::error::Error;

/// 128 random bits that prove ownership of a claim.
///
/// The claimant chooses it before it sends the claim, so that a claim whose answer was lost can be
/// sent again and recognised. Every later step compares it and changes nothing when it is stale.
#[derive(Clone, Copy)]
pub struct OwnerToken([u8; 16]);

impl OwnerToken {
    /// Draws a new token.
    ///
    /// # Errors
    ///
    /// Fails with kind [`Store`](crate::ErrorKind::Store) when the operating system gives no random
    /// bytes.
    pub fn random() -> Result<Self, Error> {
        Ok(Self(random_bytes()?))
    }

    /// A token from its stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes that a store keeps.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl PartialEq for OwnerToken {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for OwnerToken {}

impl fmt::Debug for OwnerToken {
    // A token is a capability: whoever can read it from a log can complete somebody else's claim.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerToken(..)")
    }
}
