//! What handlers answer, in JSON whatever happens.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem::tower::Failure;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A response with a JSON body, unless its status has none.
pub fn json(status: StatusCode, body: &Value) -> Response {
    match status {
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED => status.into_response(),
        _ => text(status, body.to_string()),
    }
}

/// The same, of JSON that is written already.
pub fn text(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// Why a request gets nothing else.
pub enum Refusal {
    Unauthenticated,
    /// What is wrong with the request.
    Bad(String),
    NotFound,
    WrongMethod,
    /// The layer looks at the cause.
    Failed(Failure),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Unauthenticated => (StatusCode::UNAUTHORIZED, "say who asks, in `X-Principal`".into()),
            Self::Bad(error) => (StatusCode::BAD_REQUEST, error),
            Self::NotFound => (StatusCode::NOT_FOUND, "there is no such thing".into()),
            Self::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, "the path has other methods".into()),
            Self::Failed(failure) => {
                let body = json!({"error": "the service failed"}).to_string();
                let mut response = failure.into_response_with(body.into());
                response.headers_mut().insert(header::CONTENT_TYPE, JSON);
                return response;
            }
        };
        json(status, &json!({"error": error}))
    }
}

impl<E: Into<Failure>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A query, or 400 in JSON.
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Refusal::Bad(rejection.body_text())),
        }
    }
}

/// The number in the path, or 404 in JSON: whatever has no number is not there.
pub struct Numbered<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Numbered<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(number)) => Ok(Self(number)),
            Err(_) => Err(Refusal::NotFound),
        }
    }
}

/// A status in the path that ends a request, or 400 in JSON.
pub struct Status(pub StatusCode);

impl<S: Send + Sync> FromRequestParts<S> for Status {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let code = match Path::<u16>::from_request_parts(parts, state).await {
            Ok(Path(code)) if (200..=599).contains(&code) => StatusCode::from_u16(code).ok(),
            _ => None,
        };
        code.map(Self)
            .ok_or_else(|| Refusal::Bad("the status has to be one from 200 to 599".into()))
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
