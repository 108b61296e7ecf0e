//! Why an input has no key.

use std::fmt;

use super::canonical::CanonicalError;

/// An input that has no key, or text that is none: where, what, and what to do about it.
#[derive(Clone)]
pub struct KeyError(Box<Inner>);

/// Says what kind of fault an input has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyErrorKind {
    /// A value of the input has no canonical form.
    Value,
    /// Every key field that could tell one effect from another is absent.
    NoAnchor,
    /// Neither the type nor the call names a tenant.
    TenantMissing,
    /// The type and the call name different tenants.
    TenantConflict,
    /// A tenant that `Tenant::parse` refuses.
    TenantInvalid,
    /// A `once_per` place with a field that is absent, or with no field.
    PlaceIncomplete,
    /// A model version that names different models over time.
    FloatingVersion,
    /// Text that is not what it should be: a key, a client key, a digest.
    Malformed,
}

impl KeyError {
    /// Returns what kind of fault it is.
    pub fn kind(&self) -> KeyErrorKind {
        self.0.kind
    }

    /// Returns the path of the value at fault, such as `params.items[3].price`; empty for the whole.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns what is wrong and what to do about it, without the path.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    pub(crate) fn new(kind: KeyErrorKind, path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            path: path.into(),
            reason: reason.into(),
        }))
    }

    pub(crate) fn tenant_invalid(path: &str, reason: &str) -> Self {
        Self::new(KeyErrorKind::TenantInvalid, path, reason)
    }

    pub(crate) fn malformed(reason: &str) -> Self {
        Self::new(KeyErrorKind::Malformed, "", reason)
    }

    pub(crate) fn canonical(kind: KeyErrorKind, source: &CanonicalError) -> Self {
        Self::new(kind, source.path(), source.reason())
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.0.path = path.to_owned();
        self
    }
}

impl From<CanonicalError> for KeyError {
    fn from(source: CanonicalError) -> Self {
        Self::canonical(KeyErrorKind::Value, &source)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "`{}`: ", self.0.path)?;
        }
        f.write_str(&self.0.reason)
    }
}

impl fmt::Debug for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyError")
            .field("kind", &self.0.kind)
            .field("path", &self.0.path)
            .field("reason", &self.0.reason)
            .finish()
    }
}

impl std::error::Error for KeyError {}

#[derive(Clone)]
struct Inner {
    kind: KeyErrorKind,
    path: String,
    reason: String,
}
