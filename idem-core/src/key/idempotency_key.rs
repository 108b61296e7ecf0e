//! The key under which an effect is on record.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::canonical::{self, Mode};
use super::{Digest, FromType, Idempotent, KeyError, Tenant, TenantKnown, derive};

/// The identity of one effect: `dk_<tenant>_<40 hex>` when derived, `ck_<tenant>_<40 hex>` when given by a client.
///
/// The two never meet, and a key is split at its last `_`, so no tenant can reach another's.
///
/// # Examples
///
/// ```
/// use idem_core::IdempotencyKey;
///
/// let key: IdempotencyKey = "dk_acme_44136fa355b3678a1146ad16f7e8649e94fb4fc2".parse()?;
/// assert_eq!(key.tenant().as_str(), "acme");
/// assert_eq!(key.short(), "44136fa3");
/// # Ok::<(), idem_core::KeyError>(())
/// ```
///
/// Clones share the text.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(Arc<Inner>);

struct Inner {
    /// The tenant is part of it, so that it alone is compared.
    text: String,
    tenant: Tenant,
}

impl IdempotencyKey {
    /// Derives the key of an input whose type knows its tenant.
    ///
    /// # Errors
    ///
    /// When the input has no key; the error names the field.
    pub fn derive<I: Idempotent + TenantKnown<FromType> + ?Sized>(input: &I) -> Result<Self, KeyError> {
        Ok(derive(input, None)?.key)
    }

    /// Derives the key whose preimage is this JSON text, as a gateway does that has no Rust type for it.
    ///
    /// The text is the whole preimage: the tenant only labels the key.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or holds something that a key refuses.
    pub fn from_json(tenant: &Tenant, preimage: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::derived(
            tenant.clone(),
            &Digest::of(canonical::from_json(preimage, Mode::Key)?),
        ))
    }

    /// Reads a key.
    ///
    /// # Errors
    ///
    /// When the text is no key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let fault = || KeyError::malformed("a key is `dk_` or `ck_`, a tenant, `_` and 40 lower-case hex digits");
        let (head, digest) = text.rsplit_once('_').ok_or_else(fault)?;
        let tenant = head
            .strip_prefix("dk_")
            .or_else(|| head.strip_prefix("ck_"))
            .ok_or_else(fault)?;
        if digest.len() != HEX_DIGITS || !digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(fault());
        }
        let tenant = Tenant::from_key(tenant)?;
        Ok(Self::new(text.to_owned(), tenant))
    }

    /// Returns the whole text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns whose key it is.
    pub fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    /// Returns whether the key was derived, rather than given by a client.
    pub fn is_derived(&self) -> bool {
        self.0.text.starts_with("dk_")
    }

    /// Returns 8 hex digits, enough to find a call in a log and no more.
    pub fn short(&self) -> &str {
        let digest = self.0.text.len() - HEX_DIGITS;
        &self.0.text[digest..digest + 8]
    }

    pub(crate) fn derived(tenant: Tenant, digest: &Digest) -> Self {
        Self::of("dk", tenant, digest)
    }

    pub(crate) fn of_client(tenant: Tenant, digest: &Digest) -> Self {
        Self::of("ck", tenant, digest)
    }

    fn of(prefix: &str, tenant: Tenant, digest: &Digest) -> Self {
        let mut text = String::with_capacity(prefix.len() + tenant.as_str().len() + HEX_DIGITS + 2);
        text.push_str(prefix);
        text.push('_');
        text.push_str(tenant.as_str());
        text.push('_');
        text.push_str(digest.encode(&mut [0; HEX_DIGITS]));
        Self::new(text, tenant)
    }

    fn new(text: String, tenant: Tenant) -> Self {
        Self(Arc::new(Inner { text, tenant }))
    }
}

impl PartialEq for IdempotencyKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for IdempotencyKey {}

impl PartialOrd for IdempotencyKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IdempotencyKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text.cmp(&other.0.text)
    }
}

impl Hash for IdempotencyKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

/// Shows 8 hex digits, since what is printed for debugging ends up in logs.
impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({}…)", self.short())
    }
}

impl FromStr for IdempotencyKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::parse(&text)
    }
}

impl From<IdempotencyKey> for String {
    fn from(key: IdempotencyKey) -> Self {
        match Arc::try_unwrap(key.0) {
            Ok(inner) => inner.text,
            Err(shared) => shared.text.clone(),
        }
    }
}

/// 160 bits: enough that no two inputs ever meet, and short enough for every header and index.
const HEX_DIGITS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_split_at_its_last_underscore() {
        let text = "dk_acme_0000000000000000000000000000000000000000_44136fa355b3678a1146ad16f7e8649e94fb4fc2";
        let key = IdempotencyKey::parse(text).unwrap();
        assert_eq!(key.tenant().as_str(), "acme_0000000000000000000000000000000000000000");
        assert_eq!(key.to_string(), text);
    }

    #[test]
    fn the_reserved_tenant_is_read_back() {
        let key = IdempotencyKey::derived(Tenant::NONE, &Digest::of(""));
        assert!(IdempotencyKey::parse(key.as_str()).unwrap().tenant().is_none());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let hex = "44136fa355b3678a1146ad16f7e8649e94fb4fc2";
        for bad in [
            String::new(),
            hex.to_owned(),
            format!("dk_{hex}"),
            format!("dk__{hex}"),
            format!("xk_acme_{hex}"),
            format!("dk_ac me_{hex}"),
            format!("dk_acme_{}", &hex[1..]),
            format!("dk_acme_{}", hex.to_uppercase()),
            format!("dk_acme_{hex}0"),
            format!("dk_acme_{}é", &hex[2..]),
        ] {
            assert!(IdempotencyKey::parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_output_shows_eight_digits_only() {
        let key = IdempotencyKey::derived(Tenant::parse("acme").unwrap(), &Digest::of("{}"));
        assert_eq!(format!("{key:?}"), "IdempotencyKey(44136fa3…)");
    }
}
