use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};

use crate::canonical::{self, Mode};
use crate::clock::random_bytes;
use crate::error::Error;
use crate::key::Basis;

/// What an entry says in clear: who it was about, what the key was made of and on what basis it was
/// decided.
///
/// It is kept in a table of its own so that it can be erased. The entry holds a commitment to it,
/// SHA-256 over the salt and the canonical JSON of `{"basis","preimage","subject"}`: with the salt
/// the detail can be proven, without it nothing can be guessed.
#[derive(Clone, Debug)]
pub struct Detail {
    subject: Option<String>,
    preimage: String,
    basis: Option<String>,
    columns: Option<Basis>,
    salt: [u8; 16],
    commitment: [u8; 32],
}

impl Detail {
    /// Composes a detail. `preimage` and `basis` are canonical JSON.
    ///
    /// # Errors
    ///
    /// Fails when the operating system gives no random bytes for the salt, or when the parts are too large together.
    pub fn new(subject: Option<String>, preimage: String, basis: Option<String>) -> Result<Self, Error> {
        let salt = random_bytes()?;
        let mut detail = Self {
            columns: basis.as_deref().and_then(find_basis),
            subject,
            preimage,
            basis,
            salt,
            commitment: [0; 32],
        };
        detail.commitment = detail.commit()?;
        Ok(detail)
    }

    fn commit(&self) -> Result<[u8; 32], Error> {
        let content = serde_json::json!({ "basis": self.basis, "preimage": self.preimage, "subject": self.subject });
        let content = canonical::to_vec(&content, Mode::Fingerprint)
            .map_err(|source| Error::misuse("the ledger detail is too large", source))?;
        Ok(Sha256::new()
            .chain_update(self.salt)
            .chain_update(content)
            .finalize()
            .into())
    }

    /// Whom or what the effect is about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// The canonical JSON that was hashed into the key.
    #[must_use]
    pub fn preimage(&self) -> &str {
        &self.preimage
    }

    /// The basis of the attempt, as canonical JSON.
    #[must_use]
    pub fn basis(&self) -> Option<&str> {
        self.basis.as_deref()
    }

    /// The [`Basis`] found in it, whose parts stores keep in columns that can be searched.
    #[must_use]
    pub fn columns(&self) -> Option<&Basis> {
        self.columns.as_ref()
    }

    /// The salt of the commitment.
    #[must_use]
    pub fn salt(&self) -> &[u8; 16] {
        &self.salt
    }

    /// The commitment that the entry holds.
    #[must_use]
    pub fn commitment(&self) -> &[u8; 32] {
        &self.commitment
    }
}

/// The first member of a basis object that is a [`Basis`].
pub(crate) fn find_basis(json: &str) -> Option<Basis> {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).ok()?;
    members
        .into_iter()
        .find_map(|(_, value)| Basis::deserialize(value).ok())
}
