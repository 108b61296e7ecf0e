use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use http::{Extensions, Response, StatusCode};

/// An error of a handler: 500, with its cause for the layer and the log, and none of it for the client.
///
/// Made by `?` from any error. In transactional mode the layer asks the store what the cause means: where the database
/// undid the transaction (a serialisation failure, a deadlock) or its connection broke, the client gets 503 with
/// `Retry-After`, since a repeat under the same key runs.
///
/// With the feature `axum` it is a response; elsewhere [`into_response_with`](Self::into_response_with) makes one.
pub struct Failure(Arc<dyn StdError + Send + Sync>);

impl Failure {
    /// The cause.
    #[must_use]
    pub fn source(&self) -> &(dyn StdError + 'static) {
        &*self.0
    }

    /// The response, with `body`.
    pub fn into_response_with<B>(self, body: B) -> Response<B> {
        tracing::error!(error = %self.0, "a handler failed");
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response.extensions_mut().insert(Cause(self.0));
        response
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?})", self.0)
    }
}

#[derive(Clone)]
struct Cause(Arc<dyn StdError + Send + Sync>);

/// The cause that a response was made of, if it was made of a [`Failure`].
pub(crate) fn failure_of(extensions: &Extensions) -> Option<&(dyn StdError + 'static)> {
    extensions.get::<Cause>().map(|cause| &*cause.0 as _)
}
