//! Who is asking.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use idem::Tenant;

use crate::answer::Refusal;

/// What authentication leaves in a request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    name: String,
    tenant: Tenant,
}

impl Principal {
    /// `None` for a name without characters.
    pub fn named(name: &str) -> Option<Self> {
        let tenant = Tenant::of_principal(name)?;
        Some(Self {
            name: name.to_owned(),
            tenant,
        })
    }

    pub fn tenant(&self) -> Tenant {
        self.tenant.clone()
    }
}

/// The authentication of this service: it believes what the header says.
pub async fn authenticate(mut request: Request, next: Next) -> Response {
    let header = request.headers().get("x-principal");
    let name = header.and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
    let Some(principal) = name.and_then(Principal::named) else {
        return Refusal::Unauthenticated.into_response();
    };
    request.extensions_mut().insert(principal);
    next.run(request).await
}
