//! From an input to its key and fingerprint.

use std::borrow::Cow;
use std::ops::Range;

use super::canonical::{self, CanonicalError, CanonicalWriter, Members, Mode};
use super::{
    Basis, Digest, Fingerprint, IdempotencyKey, Idempotent, KeyError, KeyErrorKind, Place, Tenant, TenantSource,
};

/// All that an input says about its effect before the effect runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derived {
    /// The identity of the effect.
    pub key: IdempotencyKey,
    /// What a repeat under the same key must agree with.
    pub fingerprint: Fingerprint,
    /// The canonical JSON whose SHA-256 the key is.
    pub preimage: Vec<u8>,
    /// Whom or what the effect concerns.
    pub subject: Option<String>,
    /// The basis fields as one canonical JSON object, if there are any.
    pub basis: Option<String>,
    /// The place that the type declares, if it declares one.
    pub place: Option<Place>,
    payload: Payload,
}

/// What the payload's digest is computed of.
#[derive(Clone, Debug)]
enum Payload {
    /// All that was written, and where in it the payload is.
    Within(Vec<u8>, Range<usize>),
    /// The fingerprint: a client's request is known by its digest alone.
    Fingerprint,
}

impl Derived {
    /// Computes the SHA-256 of the payload's canonical form.
    pub fn payload_digest(&self) -> [u8; 32] {
        match &self.payload {
            Payload::Within(written, payload) => *Digest::of(&written[payload.clone()]).as_bytes(),
            Payload::Fingerprint => *self.fingerprint.as_bytes(),
        }
    }

    /// What a client says of an effect that it named.
    pub(super) fn of_client(key: IdempotencyKey, fingerprint: Fingerprint, preimage: Vec<u8>) -> Self {
        Self {
            key,
            fingerprint,
            preimage,
            subject: None,
            basis: None,
            place: None,
            payload: Payload::Fingerprint,
        }
    }

    /// Adds the basis that a call gives, as the member `basis`.
    ///
    /// # Errors
    ///
    /// When the input has a basis field of that name.
    pub fn add_basis(&mut self, basis: &Basis) -> Result<(), KeyError> {
        let form = object(Mode::Fingerprint, |members| {
            members.value("basis", basis)?;
            canonical::copy_members(self.basis.as_deref().unwrap_or("{}"), members)
        })?;
        self.basis = text(form);
        Ok(())
    }
}

/// Derives key, fingerprint and what goes into the ledger.
///
/// The preimage is the canonical form of one object: the key fields under their wire names, `action` when the type
/// gives the action, and `tenant` when it comes from the call. The key is `dk_`, the tenant, `_` and 40 hex digits of
/// its SHA-256. The fingerprint is the SHA-256 of `{"action":..,"key":<preimage>,"payload":{..}}`.
///
/// # Errors
///
/// When a value has no canonical form, when all key fields are absent, and when the tenant is missing, malformed or
/// named differently by type and call. The error names the field.
///
/// # Examples
///
/// ```
/// use idem_core::{CanonicalError, Idempotent, IdempotentFields, Tenant, TenantSource, canonical::Members, derive};
///
/// struct Refund { case_id: String, cents: i64 }
///
/// // What `#[idempotent(action = "refund.issue", key = [case_id])]` writes.
/// impl IdempotentFields for Refund {
///     fn tenant(&self) -> TenantSource<'_> { TenantSource::Call }
///     fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> { out.key("case_id", &self.case_id) }
///     fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> { out.value("cents", &self.cents) }
/// }
/// impl Idempotent for Refund {
///     fn action(&self) -> &str { "refund.issue" }
/// }
///
/// let derived = derive(&Refund { case_id: "C-7".into(), cents: 900 }, Some(&Tenant::parse("acme")?))?;
/// assert_eq!(derived.preimage, br#"{"action":"refund.issue","case_id":"C-7","tenant":"acme"}"#);
/// # Ok::<(), idem_core::KeyError>(())
/// ```
pub fn derive<I: Idempotent + ?Sized>(input: &I, tenant: Option<&Tenant>) -> Result<Derived, KeyError> {
    let action = input.action();
    let (tenant, is_implied) = agree(input.tenant(), tenant)?;
    let mut writer = CanonicalWriter::of_forms();

    writer.raw("{\"action\":");
    writer.begin(Mode::Key, false);
    writer.string(action)?;
    let action_form = writer.end()?;
    writer.raw(",\"key\":");
    writer.begin(Mode::Key, false);
    key(&mut writer, action, is_implied.then_some(&*tenant), input)?;
    let preimage = writer.end()?;
    let preimage = writer.written()[preimage].to_vec();
    let digest = Digest::of_form(&preimage);
    writer.raw(",\"payload\":");
    writer.begin(Mode::Fingerprint, false);
    writer.object(|members| input.payload_members(members))?;
    let payload = writer.end()?;
    writer.raw("}");
    let fingerprint = Fingerprint::of(&Digest::of_form(writer.written()));

    let basis = basis(&mut writer, input)?;
    let place = Place::of_type(&mut writer, action_form, input)?;
    Ok(Derived {
        key: IdempotencyKey::derived(tenant.into_owned(), &digest),
        fingerprint,
        preimage,
        subject: input.subject()?,
        basis,
        place,
        payload: Payload::Within(writer.into_written(), payload),
    })
}

/// Settles whose key it is, and whether that is an implied member of it.
fn agree<'t>(source: TenantSource<'_>, call: Option<&'t Tenant>) -> Result<(Cow<'t, Tenant>, bool), KeyError> {
    let own = match source {
        TenantSource::Field { path, text } => Tenant::parse(text).map_err(|error| error.at(path))?,
        TenantSource::None => Tenant::NONE,
        TenantSource::Call => {
            let given = call.ok_or_else(|| {
                KeyError::new(
                    KeyErrorKind::TenantMissing,
                    "tenant",
                    "no tenant is known: give it by `.tenant(..)`",
                )
            })?;
            return Ok((Cow::Borrowed(given), true));
        }
    };
    match call {
        Some(given) if *given != own => {
            let path = if let TenantSource::Field { path, .. } = source {
                path
            } else {
                "tenant"
            };
            let reason = match source {
                TenantSource::None => {
                    "the action has no tenant (`tenant = none`), and the call names one: leave one of the two out"
                }
                _ => "the input and the call name different tenants: give it in one place, or the same in both",
            };
            Err(KeyError::new(KeyErrorKind::TenantConflict, path, reason))
        }
        _ => Ok((Cow::Owned(own), false)),
    }
}

fn key<I: Idempotent + ?Sized>(
    writer: &mut CanonicalWriter,
    action: &str,
    tenant: Option<&Tenant>,
    input: &I,
) -> Result<(), KeyError> {
    let mut members = Members::open(writer)?;
    if I::ACTION_IS_IMPLIED {
        members.member("action", |writer| writer.string(action))?;
    }
    input.key_members(&mut members)?;
    if !members.is_anchored() {
        let reason =
            "every key field that could tell one effect from another is absent: give at least one of them a value";
        return Err(KeyError::new(
            KeyErrorKind::NoAnchor,
            members.absent().join(", "),
            reason,
        ));
    }
    if let Some(tenant) = tenant {
        members.tenant("tenant", tenant)?;
    }
    members.close()?;
    Ok(())
}

fn basis<I: Idempotent + ?Sized>(writer: &mut CanonicalWriter, input: &I) -> Result<Option<String>, KeyError> {
    writer.begin(Mode::Fingerprint, false);
    let mut members = Members::open(writer)?;
    input.basis_members(&mut members)?;
    if members.is_empty() {
        writer.abandon();
        return Ok(None);
    }
    members.close()?;
    let form = writer.end()?;
    let basis = text(writer.written()[form].to_vec());
    writer.abandon();
    Ok(basis)
}

/// A canonical form is UTF-8.
fn text(form: Vec<u8>) -> Option<String> {
    String::from_utf8(form).ok()
}

fn object(
    mode: Mode,
    write: impl FnOnce(&mut Members<'_>) -> Result<(), CanonicalError>,
) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = CanonicalWriter::new(mode);
    writer.object(write)?;
    writer.finish()
}

#[cfg(test)]
mod tests;
