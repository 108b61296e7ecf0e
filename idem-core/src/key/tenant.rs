//! Whose key it is.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::canonical::{CanonicalError, CanonicalWriter};
use super::{Digest, KeyError, KeyField, Shape};

/// A tenant: 1 to 64 of `[A-Za-z0-9._-]`, compared byte by byte.
///
/// # Examples
///
/// ```
/// use idem_core::Tenant;
///
/// let tenant = Tenant::parse("acme-eu")?;
/// assert_eq!(tenant.as_str(), "acme-eu");
///
/// // Any other principal goes by its digest.
/// assert!(Tenant::parse("ada@example.com").is_err());
/// assert!(Tenant::opaque("ada@example.com").as_str().starts_with("h."));
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tenant(Cow<'static, str>);

impl Tenant {
    /// The reserved tenant `-` of actions that have none (`tenant = none`). No input can name it.
    pub const NONE: Self = Self(Cow::Borrowed("-"));

    /// Reads a tenant as it is written.
    ///
    /// The form of [`opaque`](Self::opaque) tenants is accepted, since that is how they come back from a store.
    ///
    /// # Errors
    ///
    /// When the text is empty, longer than 64 bytes, holds another character, or is the reserved `-`.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        match fault(text) {
            None => Ok(Self(Cow::Owned(text.to_owned()))),
            Some(fault) => Err(KeyError::tenant_invalid("", fault)),
        }
    }

    /// Makes a tenant of any principal: an e-mail address, `auth0|x`, a URN.
    ///
    /// It is `h.` and the first 32 hex digits of the SHA-256 of the text, so the principal itself is nowhere on record.
    pub fn opaque(principal: &str) -> Self {
        let hex = Digest::of(principal.as_bytes()).to_string();
        Self(Cow::Owned(format!("h.{}", &hex[..32])))
    }

    /// Makes a tenant of whoever was authenticated: as it is written where [`parse`](Self::parse) takes it, else
    /// [`opaque`](Self::opaque). `None` for the empty text, which names nobody.
    ///
    /// Two principals are two tenants: one that is written like an opaque tenant goes by its digest as well.
    ///
    /// # Examples
    ///
    /// ```
    /// use idem_core::Tenant;
    ///
    /// assert_eq!(Tenant::of_principal("acme-eu"), Some(Tenant::parse("acme-eu")?));
    /// assert_eq!(Tenant::of_principal("auth0|7"), Some(Tenant::opaque("auth0|7")));
    /// assert_eq!(Tenant::of_principal(""), None);
    /// # Ok::<(), idem_core::KeyError>(())
    /// ```
    #[must_use]
    pub fn of_principal(principal: &str) -> Option<Self> {
        match principal {
            "" => None,
            _ if principal.starts_with("h.") => Some(Self::opaque(principal)),
            _ => Some(Self::parse(principal).unwrap_or_else(|_| Self::opaque(principal))),
        }
    }

    /// Returns the tenant as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the reserved tenant of actions that have none.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Reads a tenant from the place where only this crate writes it, so that the reserved one is legal.
    pub(crate) fn from_key(text: &str) -> Result<Self, KeyError> {
        match text {
            "-" => Ok(Self::NONE),
            _ => Self::parse(text),
        }
    }
}

fn fault(text: &str) -> Option<&'static str> {
    match text {
        "" => Some("a tenant is empty: give 1 to 64 of `A-Z a-z 0-9 . _ -`"),
        "-" => Some("the tenant `-` is reserved for actions that have none: declare `tenant = none` for those"),
        _ if text.len() > 64 => {
            Some("a tenant is longer than 64 bytes: use `Tenant::opaque`, which keeps the digest of any principal")
        }
        _ if !text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'_' | b'-')) =>
        {
            Some(
                "a tenant holds a character other than `A-Z a-z 0-9 . _ -`: use `Tenant::opaque` for an e-mail address, \
             a URN or another principal",
            )
        }
        _ => None,
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({})", self.0)
    }
}

impl FromStr for Tenant {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Tenant {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::parse(&text)
    }
}

impl From<Tenant> for String {
    fn from(tenant: Tenant) -> Self {
        tenant.0.into_owned()
    }
}

impl KeyField for Tenant {
    const SHAPE: Shape = Shape::text();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_declared_characters_are_accepted() {
        for good in [
            "a",
            "ACME",
            "acme_0000000000000000000000000000000000000000",
            "h.x",
            "..",
            "--",
            &"t".repeat(64),
        ] {
            assert_eq!(Tenant::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "-",
            "a b",
            "a:b",
            "a/b",
            "a\nb",
            "a\0b",
            "e\u{301}",
            "é",
            &"t".repeat(65),
            "a|b",
        ] {
            assert!(Tenant::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_opaque_tenant_is_a_tenant() {
        let tenant = Tenant::opaque("auth0|42");
        assert_eq!(tenant.as_str().len(), 34);
        assert_eq!(Tenant::parse(tenant.as_str()).unwrap(), tenant);
    }

    #[test]
    fn deserialisation_validates() {
        assert!(serde_json::from_str::<Tenant>("\"a b\"").is_err());
        assert!(serde_json::from_str::<Tenant>("\"-\"").is_err());
        assert_eq!(serde_json::from_str::<Tenant>("\"acme\"").unwrap().as_str(), "acme");
    }
}
