use crate::clock::random_bytes;
use crate::key::canonical::{CanonicalError, Members};
use crate::key::{FromType, Idempotent, IdempotentFields, TenantKnown, TenantSource};

/// An input of the kit: what `#[idempotent]` makes of a type with a tenant, an anchor and a payload.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Whose it is.
    pub tenant: String,
    /// The anchor, part of the key.
    pub case: String,
    /// The payload.
    pub amount: u32,
    /// A place in the domain that can have one effect.
    pub place: Option<String>,
}

impl Intent {
    /// An intent in a new tenant, so that it meets no other record.
    ///
    /// # Panics
    ///
    /// When the operating system gives no random bytes.
    #[must_use]
    pub fn new(case: &str) -> Self {
        let random = random_bytes::<8>().expect("the operating system gives random bytes");
        let tenant = format!("kit-{:016x}", u64::from_be_bytes(random));
        Self {
            tenant,
            case: case.to_owned(),
            amount: 1,
            place: None,
        }
    }

    /// The same intent with another payload.
    #[must_use]
    pub fn amount(&self, amount: u32) -> Self {
        Self { amount, ..self.clone() }
    }

    /// The same tenant with another anchor.
    #[must_use]
    pub fn case(&self, case: &str) -> Self {
        Self {
            case: case.to_owned(),
            ..self.clone()
        }
    }

    /// The same intent with a place.
    #[must_use]
    pub fn once_per(&self, place: &str) -> Self {
        Self {
            place: Some(place.to_owned()),
            ..self.clone()
        }
    }
}

impl IdempotentFields for Intent {
    fn tenant(&self) -> TenantSource<'_> {
        TenantSource::Field {
            path: "tenant",
            text: &self.tenant,
        }
    }

    fn key_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.key("case", &self.case)?;
        out.tenant("tenant", &self.tenant)
    }

    fn payload_members(&self, out: &mut Members<'_>) -> Result<(), CanonicalError> {
        out.value("amount", &self.amount)
    }

    fn subject(&self) -> Result<Option<String>, CanonicalError> {
        Ok(Some(self.case.clone()))
    }

    fn once_per(&self, out: &mut Members<'_>) -> Result<bool, CanonicalError> {
        match &self.place {
            Some(place) => out.key("place", place).map(|()| true),
            None => Ok(false),
        }
    }
}

impl Idempotent for Intent {
    fn action(&self) -> &str {
        "kit.act"
    }
}

impl TenantKnown<FromType> for Intent {}
