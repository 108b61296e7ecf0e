//! What axum's handlers take and give.

use ::axum::extract::{FromRequestParts, OptionalFromRequestParts};
use ::axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use http::StatusCode;
use http::request::Parts;
use idem_core::TransactionalStore;

use crate::{Attempt, DoNotStore, EffectCommitted, Failure, NothingHappened, Tx, TxError, Unbounded};

impl<S: TransactionalStore, T: Sync> FromRequestParts<T> for Tx<S> {
    type Rejection = TxError;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Self, TxError> {
        Self::take(&parts.extensions)
    }
}

/// `None` where the request came without a key.
impl<S: TransactionalStore, T: Sync> OptionalFromRequestParts<T> for Tx<S> {
    type Rejection = TxError;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Option<Self>, TxError> {
        match Self::take(&parts.extensions) {
            Ok(tx) => Ok(Some(tx)),
            Err(TxError::None) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl IntoResponse for TxError {
    fn into_response(self) -> Response {
        tracing::error!(error = %self, "a handler gets no transaction");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

/// The request came without a key, or its route has no layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAttempt(());

impl IntoResponse for NoAttempt {
    fn into_response(self) -> Response {
        tracing::error!(
            "a handler asks for its `Attempt`, but the request came without a key or its route has no `IdempotencyLayer`; take an `Option<Attempt>` where keys are optional"
        );
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

impl<T: Sync> FromRequestParts<T> for Attempt {
    type Rejection = NoAttempt;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Self, NoAttempt> {
        parts.extensions.get::<Self>().cloned().ok_or(NoAttempt(()))
    }
}

/// `None` where the request came without a key.
impl<T: Sync> OptionalFromRequestParts<T> for Attempt {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

macro_rules! marks {
    ($($mark:ident),*) => {
        $(impl IntoResponseParts for $mark {
            type Error = std::convert::Infallible;

            fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
                parts.extensions_mut().insert(self);
                Ok(parts)
            }
        })*
    };
}

marks!(DoNotStore, EffectCommitted, NothingHappened, Unbounded);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        self.into_response_with(::axum::body::Body::empty())
    }
}
