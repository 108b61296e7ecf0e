//! Keys that clients choose.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::{Digest, IdempotencyKey, KeyError, Tenant};

/// A key chosen by a client: 1 to 255 characters of visible ASCII, compared byte by byte.
///
/// It goes on record under a prefix of its own, so that a header can never claim a derived key ahead of time, and by
/// its digest, so that no separator inside it can reach another tenant's records.
///
/// # Examples
///
/// ```
/// use idem_core::{ClientKey, Tenant};
///
/// let key = ClientKey::parse("8e03978e-40d5-43e8-bc93-6894a57f9324")?.under(&Tenant::parse("acme")?);
/// assert!(key.as_str().starts_with("ck_acme_"));
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey(String);

/// Says what a client key looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientKeyFormat {
    /// A UUID with hyphens, of any version.
    Uuid,
    /// A ULID: 26 characters of Crockford's base 32.
    Ulid,
    /// Anything else.
    Opaque,
}

impl ClientKey {
    /// Reads a client's key.
    ///
    /// # Errors
    ///
    /// When the text is empty, longer than 255 bytes, or holds anything but visible ASCII.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if !(1..=255).contains(&text.len()) {
            return Err(KeyError::malformed("a client key has 1 to 255 characters: send a UUID"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::malformed(
                "a client key holds visible ASCII only, without spaces: send a UUID",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text the client sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what the key looks like.
    pub fn format(&self) -> ClientKeyFormat {
        let is_ulid = self.0.len() == 26
            && self.0.starts_with(|first: char| ('0'..='7').contains(&first))
            && self
                .0
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() && !b"ILOUilou".contains(&byte));
        match () {
            () if self.0.len() == 36 && Uuid::parse_str(&self.0).is_ok() => ClientKeyFormat::Uuid,
            () if is_ulid => ClientKeyFormat::Ulid,
            () => ClientKeyFormat::Opaque,
        }
    }

    /// Returns the key on record for this tenant: `ck_<tenant>_` and 40 hex digits of the SHA-256 of the text.
    pub fn under(&self, tenant: &Tenant) -> IdempotencyKey {
        IdempotencyKey::of_client(tenant.clone(), &Digest::of(&self.0))
    }

    /// Returns the key on record for this tenant and operation, apart from those of all others: as [`under`](Self::under),
    /// of the text, a space and the operation. A client key has no space, so no other key has the same text.
    pub fn under_operation(&self, tenant: &Tenant, operation: &str) -> IdempotencyKey {
        let text = format!("{} {operation}", self.0);
        IdempotencyKey::of_client(tenant.clone(), &Digest::of(text))
    }
}

impl From<Uuid> for ClientKey {
    fn from(uuid: Uuid) -> Self {
        Self(uuid.to_string())
    }
}

impl FromStr for ClientKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

/// Shows the format only, since a client may put anything into its key.
impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({:?}, {} bytes)", self.format(), self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_visible_ascii_is_accepted() {
        for good in ["x", "!~", &"k".repeat(255)] {
            assert!(ClientKey::parse(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a\n", "é", "\u{7f}", &"k".repeat(256)] {
            assert!(ClientKey::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn formats_are_recognised() {
        let format = |text| ClientKey::parse(text).unwrap().format();
        assert_eq!(format("8e03978e-40d5-43e8-bc93-6894a57f9324"), ClientKeyFormat::Uuid);
        assert_eq!(format("01ARZ3NDEKTSV4RRFFQ69G5FAV"), ClientKeyFormat::Ulid);
        assert_eq!(format("81ARZ3NDEKTSV4RRFFQ69G5FAV"), ClientKeyFormat::Opaque);
        assert_eq!(format("order-7"), ClientKeyFormat::Opaque);
    }

    #[test]
    fn a_client_cannot_name_a_derived_key() {
        let tenant = Tenant::parse("acme").unwrap();
        let derived = IdempotencyKey::derived(tenant.clone(), &Digest::of("{}"));
        let claimed = ClientKey::parse(derived.as_str()).unwrap().under(&tenant);
        assert_ne!(claimed, derived);
        assert!(!claimed.is_derived());
    }
}
