//! What `#[idempotent]` implements.

use std::borrow::Cow;
use std::sync::Arc;

use super::canonical::{CanonicalError, Members};
use super::{Derived, KeyError, KeySchema, Tenant, derive};
use crate::clock::Timestamp;

/// A type whose fields are classified: key, payload, basis, or none of them.
///
/// `#[idempotent(key = [..])]` implements it. Members should come in the order of the UTF-16 code units of their names,
/// which spares moving them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which of its fields identify an effect",
    label = "no key",
    note = "add `#[idempotent(action = \"..\", key = [..])]` to the type"
)]
pub trait IdempotentFields {
    /// A digest of what the key is made of; `pin = ".."` holds it fast.
    const KEY_SCHEMA: KeySchema = KeySchema::unstated();

    /// Returns where the tenant comes from.
    fn tenant(&self) -> TenantSource<'_>;

    /// Writes the key fields.
    ///
    /// # Errors
    ///
    /// When a value cannot be part of a key.
    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError>;

    /// Writes the payload fields, which the fingerprint covers.
    ///
    /// # Errors
    ///
    /// When a value has no canonical form.
    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError>;

    /// Writes the basis fields, which go into the ledger.
    ///
    /// # Errors
    ///
    /// When a value has no canonical form.
    fn basis_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        let _ = out;
        Ok(())
    }

    /// Returns whom or what the effect concerns, as text.
    ///
    /// # Errors
    ///
    /// When the value cannot be part of a key.
    fn subject(&self) -> Result<Option<String>, CanonicalError> {
        Ok(None)
    }

    /// Writes the fields of the place that can have one effect, and returns whether the type declares one.
    ///
    /// # Errors
    ///
    /// When a value cannot be part of a key, or is absent.
    fn once_per(&self, out: &mut Members<'_>) -> Result<bool, CanonicalError> {
        let _ = out;
        Ok(false)
    }
}

/// A type that says which action it asks for, and so can be run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no action",
    label = "no action",
    note = "name it: `#[idempotent(action = \"refund.issue\", key = [..])]`"
)]
pub trait Idempotent: IdempotentFields {
    /// Whether the action is an implied member of the key; false for a type that has a key field of that name.
    const ACTION_IS_IMPLIED: bool = true;

    /// Until when calls claim the key of the [previous](Self::previous) definition, too; `None` where there is none.
    ///
    /// The host's clock is asked, so the date leaves a margin.
    const PREVIOUS_UNTIL: Option<Timestamp> = None;

    /// Returns the action, such as `refund.issue`.
    fn action(&self) -> &str;

    /// Derives what the input says of its effect; `tenant` is that of the call. What is known already may be returned as
    /// it is, as [`Identified`](super::Identified) does.
    ///
    /// # Errors
    ///
    /// As [`derive()`].
    fn derived(&self, tenant: Option<&Tenant>) -> Result<Derived, KeyError> {
        derive(self, tenant)
    }

    /// Returns [`PREVIOUS_UNTIL`](Self::PREVIOUS_UNTIL), unless it is known of the value alone.
    fn previous_until(&self) -> Option<Timestamp> {
        Self::PREVIOUS_UNTIL
    }

    /// Derives what the input says of its effect by the definition that a deploy has changed, if it has; `tenant` is that
    /// of the call.
    ///
    /// Until [`PREVIOUS_UNTIL`](Self::PREVIOUS_UNTIL) an effect is on record under the previous key and the new one becomes
    /// its alias; later, an alias is followed. The tenant has to be the same by both definitions.
    ///
    /// # Errors
    ///
    /// As [`derive`](super::derive).
    fn previous(&self, tenant: Option<&Tenant>) -> Result<Option<Derived>, KeyError> {
        let _ = tenant;
        Ok(None)
    }
}

/// Says where the tenant of an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TenantSource<'a> {
    /// From a field.
    Field {
        /// The field's wire name.
        path: &'static str,
        /// Its text.
        text: &'a str,
    },
    /// From nowhere: the action has none (`tenant = none`).
    None,
    /// From the call, by `.tenant(..)`; it becomes an implied member of the key.
    Call,
}

/// Says that the tenant of a call to this type is known, from `Src`.
#[diagnostic::on_unimplemented(
    message = "no tenant is known for `{Self}`",
    label = "whose effect is it?",
    note = "name the field: `#[idempotent(tenant = account, ..)]`, or have a key field named `tenant`",
    note = "or give it with the call: `.tenant(tenant)`",
    note = "or declare that the action has none: `#[idempotent(tenant = none, ..)]`"
)]
pub trait TenantKnown<Src> {}

/// The tenant is known from the type.
#[derive(Clone, Copy, Debug)]
pub struct FromType;

/// The tenant is given with the call.
#[derive(Clone, Copy, Debug)]
pub struct FromCall;

impl<T: ?Sized> TenantKnown<FromCall> for T {}

/// The type of a field that names a tenant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name a tenant",
    label = "not a tenant",
    note = "use a `Tenant` or a string of 1 to 64 of `A-Z a-z 0-9 . _ -`",
    note = "a tenant is never optional: declare `tenant = none`, or give it with the call by `.tenant(..)`"
)]
pub trait TenantField {
    /// Returns the tenant's text.
    fn tenant_text(&self) -> &str;

    // What generated code calls.
    #[doc(hidden)]
    fn __source(&self, path: &'static str) -> TenantSource<'_> {
        TenantSource::Field {
            path,
            text: self.tenant_text(),
        }
    }

    #[doc(hidden)]
    fn __to(&self, written: &'static str, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.__tenant(written, self.tenant_text())
    }

    #[doc(hidden)]
    fn __member(&self, name: &'static str, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.tenant(name, self.tenant_text())
    }
}

impl TenantField for str {
    fn tenant_text(&self) -> &str {
        self
    }
}

impl TenantField for Tenant {
    fn tenant_text(&self) -> &str {
        self.as_str()
    }
}

macro_rules! tenant_fields {
    ($($text:ty),* $(,)?) => {
        $(impl TenantField for $text {
            fn tenant_text(&self) -> &str {
                self
            }
        })*
    };
}

tenant_fields!(String, Box<str>, Arc<str>, Cow<'_, str>);

impl<T: TenantField + ?Sized> TenantField for &T {
    fn tenant_text(&self) -> &str {
        (**self).tenant_text()
    }
}
