//! The work of one request with a key, in a task that outlives its connection.

mod answer;
mod handler;
mod identify;
mod leased;
mod transactional;

pub(crate) use handler::Handler;
pub use leased::Leased;
pub use transactional::Transactional;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use idem_core::{ClientKey, Error, Idem, Tenant};
use tokio::sync::oneshot;
use tokio::time::error::Elapsed;
use tower_service::Service;

use crate::config::Config;
use crate::request::RequestBody;
use crate::response::{BoxError, ResponseBody};
use answer::Answers;
use handler::Called;

/// What the client gets.
pub(crate) type Answer<R, E> = Result<Response<ResponseBody<R>>, E>;

/// One request with a key.
pub(crate) struct Job<I, B, R, E> {
    pub(crate) handler: Handler<I>,
    pub(crate) parts: Parts,
    pub(crate) body: B,
    pub(crate) named: Named,
    /// `None` where keys are everybody's.
    pub(crate) tenant: Option<Tenant>,
    pub(crate) reply: Reply<R, E>,
}

/// What names the effect of a request.
pub(crate) enum Named {
    /// The client.
    Key(ClientKey),
    /// The body; beside it, the client's step.
    Body(Option<ClientKey>),
}

impl Named {
    fn client_key(&self) -> Option<&ClientKey> {
        match self {
            Self::Key(key) => Some(key),
            Self::Body(step) => step.as_ref(),
        }
    }
}

/// Where the answer goes, if the client still waits for it.
pub(crate) struct Reply<R, E> {
    pub(crate) sender: Option<oneshot::Sender<Answer<R, E>>>,
    /// The key, where the service tells it back.
    pub(crate) echo: Option<(http::HeaderName, HeaderValue)>,
}

impl<R, E> Reply<R, E> {
    /// Answers; whoever went away gets nothing. Only the first answer counts.
    pub(crate) fn send(&mut self, answer: Answer<R, E>) {
        let Some(sender) = self.sender.take() else {
            return;
        };
        let answer = answer.map(|mut response| {
            if let Some((name, value)) = self.echo.take() {
                response.headers_mut().insert(name, value);
            }
            response
        });
        let _ = sender.send(answer);
    }
}

/// How the work of a request is made one effect.
pub trait Mode<S>: private::Serves<S> {}

impl<S, M: private::Serves<S>> Mode<S> for M {}

pub(crate) mod private {
    use super::*;

    /// The bounds of a service that can be wrapped, in one place.
    pub trait Inner<B, R>:
        Service<Request<RequestBody<B>>, Response = Response<R>, Error: Send, Future: Send> + Clone + Send + 'static
    {
    }

    impl<T, B, R> Inner<B, R> for T where
        T: Service<Request<RequestBody<B>>, Response = Response<R>, Error: Send, Future: Send> + Clone + Send + 'static
    {
    }

    pub trait RequestBytes: Body<Data: Send, Error: Send> + Send + 'static {}

    impl<B> RequestBytes for B where B: Body<Data: Send, Error: Send> + Send + 'static {}

    pub trait ResponseBytes: Body<Data: Send, Error: Into<BoxError> + Send> + Send + 'static {}

    impl<R> ResponseBytes for R where R: Body<Data: Send, Error: Into<BoxError> + Send> + Send + 'static {}

    /// How a mode serves a request.
    pub trait Serves<S>: Clone + Send + Sync + 'static {
        #[doc(hidden)]
        #[expect(private_interfaces, reason = "nobody outside can implement or call it")]
        fn serve<I, B, R>(
            self,
            idem: Idem<S>,
            config: Arc<Config>,
            job: Job<I, B, R, I::Error>,
        ) -> impl Future<Output = ()> + Send
        where
            I: Inner<B, R>,
            B: RequestBytes,
            R: ResponseBytes;

        #[doc(hidden)]
        fn check(&self, retention: Duration) -> Result<(), Error>;
    }
}

/// Waits for `work`, `limit` at most. What is done at once costs no timer.
async fn within<F: Future>(limit: Duration, mut work: Pin<&mut F>) -> Result<F::Output, Elapsed> {
    if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        return Ok(done);
    }
    tokio::time::timeout(limit, work).await
}

/// Serves a request whose key could not be claimed, as the service was told to. Nothing of it is kept.
async fn fail_open<S, I, B, R>(
    idem: &Idem<S>,
    config: &Config,
    error: &Error,
    handler: Handler<I>,
    request: Request<RequestBody<B>>,
    reply: &mut Reply<R, I::Error>,
) where
    I: private::Inner<B, R>,
{
    let (parts, body) = request.into_parts();
    let action = config.action(&parts);
    tracing::warn!(action, error = %error, "a request is served without protection");
    idem.observe(|observer| observer.failed_open(&action));
    let answers = Answers(config);
    reply.send(match handler.call(Request::from_parts(parts, body)).await {
        Called::Answered(response) => Ok(answers.failed_open(response.map(ResponseBody::passed))),
        Called::Failed(error) | Called::Unready(error) => Err(error),
        Called::Panicked => Ok(answers.internal("The service failed in the middle of the request.")),
    });
}

/// The answer to what the executor said, and the response of a record.
pub(crate) fn from_memory<R>(response: Response<Bytes>) -> Response<ResponseBody<R>> {
    response.map(ResponseBody::from)
}
