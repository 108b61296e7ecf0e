//! Who asks.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use idem::Tenant;

/// What authentication leaves in a request. Tokens come and go; the account stays, and keys are its own.
#[derive(Clone)]
pub struct Account(pub &'static str);

impl Account {
    pub fn tenant(&self) -> Tenant {
        Tenant::opaque(self.0)
    }
}

/// A service would ask whoever issues them.
const TOKENS: [(&str, Account); 3] = [
    ("alice-token", Account("alice")),
    ("alice-other-token", Account("alice")),
    ("bob-token", Account("bob")),
];

pub async fn authenticate(mut request: Request, next: Next) -> Response {
    let header = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let sent = header.and_then(|value| value.strip_prefix("Bearer "));
    match TOKENS.into_iter().find(|(token, _)| Some(*token) == sent) {
        Some((_, account)) => {
            request.extensions_mut().insert(account);
            next.run(request).await
        }
        None => (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response(),
    }
}
