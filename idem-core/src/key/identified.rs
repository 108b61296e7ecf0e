//! Effects whose identity is made before the executor sees them.

use super::canonical::{CanonicalError, CanonicalWriter, Members, Mode};
use super::{
    ClientKey, Derived, Digest, Fingerprint, FromType, IdempotencyKey, Idempotent, IdempotentFields, KeyError, Tenant,
    TenantKnown, TenantSource,
};
use crate::clock::Timestamp;

/// An effect whose key and fingerprint are known already: what a layer hands to the executor.
///
/// A service that is asked over a protocol does not always have a type of its own for what it is asked: the client
/// names the effect ([`of_client`](Self::of_client)), or the type is known to a function that reads the request
/// ([`of`](Self::of)). Its tenant is part of it, so calls end without naming one.
///
/// # Examples
///
/// ```
/// use idem_core::{ClientKey, Digest, Identified, Tenant};
///
/// let key = ClientKey::parse("8e03978e-40d5-43e8-bc93-6894a57f9324")?;
/// let body = Digest::of(br#"{"sku":1}"#);
/// let effect = Identified::of_client(&Tenant::parse("acme")?, &key, None, "POST /orders", &body)?;
/// assert!(effect.key().as_str().starts_with("ck_acme_"));
/// # Ok::<(), idem_core::KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Identified {
    action: String,
    derived: Derived,
    previous: Option<Derived>,
    previous_until: Option<Timestamp>,
}

impl Identified {
    /// Derives what `input` says of its effect, for `tenant` if the call gives one.
    ///
    /// # Errors
    ///
    /// As [`derive`](super::derive).
    pub fn of<I: Idempotent + ?Sized>(input: &I, tenant: Option<&Tenant>) -> Result<Self, KeyError> {
        Ok(Self {
            action: input.action().to_owned(),
            derived: input.derived(tenant)?,
            previous: input.previous(tenant)?,
            previous_until: input.previous_until(),
        })
    }

    /// Takes the key that a client chose, under the tenant that the client was authenticated as.
    ///
    /// `request` is the digest of all that a repeat has to agree with. It becomes the fingerprint as it is, so whoever
    /// computes it makes sure that two requests which differ have two digests. With an `operation`, such as the method
    /// and path of a request, the key names one effect for each, else one effect.
    ///
    /// # Errors
    ///
    /// When the operation is longer than 1 MiB.
    pub fn of_client(
        tenant: &Tenant,
        key: &ClientKey,
        operation: Option<&str>,
        action: &str,
        request: &Digest,
    ) -> Result<Self, KeyError> {
        let mut writer = CanonicalWriter::new(Mode::Key);
        let on_record = match operation {
            None => {
                writer.string(key.as_str())?;
                key.under(tenant)
            }
            Some(operation) => {
                writer.serialize(&[key.as_str(), operation])?;
                key.under_operation(tenant, operation)
            }
        };
        Ok(Self {
            action: action.to_owned(),
            derived: Derived::of_client(on_record, Fingerprint::of(request), writer.finish()?),
            previous: None,
            previous_until: None,
        })
    }

    /// Says whom or what the effect concerns, for the ledger. Not part of the key.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.derived.subject = Some(subject.into());
        self
    }

    /// Returns the key.
    pub fn key(&self) -> &IdempotencyKey {
        &self.derived.key
    }
}

impl IdempotentFields for Identified {
    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::Field {
            path: "tenant",
            text: self.derived.key.tenant().as_str(),
        }
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("key", self.derived.key.as_str())
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("fingerprint", &Digest::from_bytes(*self.derived.fingerprint.as_bytes()))
    }
}

impl Idempotent for Identified {
    fn action(&self) -> &str {
        &self.action
    }

    fn derived(&self, _tenant: Option<&Tenant>) -> Result<Derived, KeyError> {
        Ok(self.derived.clone())
    }

    fn previous(&self, _tenant: Option<&Tenant>) -> Result<Option<Derived>, KeyError> {
        Ok(self.previous.clone())
    }

    fn previous_until(&self) -> Option<Timestamp> {
        self.previous_until
    }
}

impl TenantKnown<FromType> for Identified {}
