use std::sync::OnceLock;

use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};

use crate::canonical::{CanonicalError, CanonicalWriter, Mode};
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
    /// Found when a store asks for it: not every store does.
    columns: OnceLock<Option<Basis>>,
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
            subject,
            preimage,
            basis,
            columns: OnceLock::new(),
            salt,
            commitment: [0; 32],
        };
        detail.commitment = detail.commit()?;
        Ok(detail)
    }

    fn commit(&self) -> Result<[u8; 32], Error> {
        let too_large = |source| Error::misuse("the ledger detail is too large", source);
        let content = self.content().map_err(too_large)?;
        Ok(Sha256::new()
            .chain_update(self.salt)
            .chain_update(content)
            .finalize()
            .into())
    }

    /// What is committed to. A part that is not there is `null`, which is not what a field that is absent would be.
    fn content(&self) -> Result<Vec<u8>, CanonicalError> {
        let mut writer = CanonicalWriter::new(Mode::Fingerprint);
        let part = |text: Option<&str>, writer: &mut CanonicalWriter| match text {
            Some(text) => writer.string(text),
            None => writer.null(),
        };
        writer.object(|members| {
            members.member("basis", |writer| part(self.basis(), writer))?;
            members.member("preimage", |writer| part(Some(&self.preimage), writer))?;
            members.member("subject", |writer| part(self.subject(), writer))
        })?;
        writer.finish()
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
        let find = || self.basis.as_deref().and_then(find_basis);
        self.columns.get_or_init(find).as_ref()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;

    /// As it says it: over the salt and the canonical JSON of an object.
    fn commitment(detail: &Detail) -> [u8; 32] {
        let content = serde_json::json!({
            "basis": detail.basis(), "preimage": detail.preimage(), "subject": detail.subject(),
        });
        let content = canonical::to_vec(&content, Mode::Fingerprint).expect("it is small");
        Sha256::new()
            .chain_update(detail.salt())
            .chain_update(content)
            .finalize()
            .into()
    }

    #[test]
    fn the_commitment_is_over_the_canonical_json_of_all_parts() {
        let texts = [
            "",
            "C-7",
            r#"{"case":"C-7"}"#,
            "\"\\\u{8}\n\u{1f}\u{7f}",
            "é\u{2028}\u{1f980}",
        ];
        let optional = || std::iter::once(None).chain(texts.map(|text| Some(text.to_owned())));
        for (subject, basis) in optional().flat_map(|subject| optional().map(move |basis| (subject.clone(), basis))) {
            for preimage in texts {
                let detail = Detail::new(subject.clone(), preimage.to_owned(), basis.clone()).expect("a salt");
                assert_eq!(*detail.commitment(), commitment(&detail), "{detail:?}");
            }
        }
        let bare = Detail {
            subject: None,
            basis: None,
            columns: OnceLock::new(),
            preimage: "{}".to_owned(),
            salt: [7; 16],
            commitment: [0; 32],
        };
        assert_eq!(
            bare.content().expect("it is small"),
            br#"{"basis":null,"preimage":"{}","subject":null}"#
        );
    }

    #[test]
    fn a_detail_that_is_too_large_is_refused() {
        let error = Detail::new(None, "x".repeat(1024 * 1024), None).expect_err("it is too large");
        assert_eq!(error.kind(), crate::ErrorKind::Misuse);
    }
}
