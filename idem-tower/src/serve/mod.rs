//! The work of one request with a key, in a task that outlives its connection.

mod answer;
mod handler;
mod identify;
mod late;
mod leased;
mod transactional;

pub(crate) use handler::Handler;
pub use leased::Leased;
pub use transactional::Transactional;

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use idem_core::{ClientKey, Error, ErrorKind, Idem, ReadyCall, Store, Tenant};
use tokio::sync::oneshot;
use tokio::time::error::Elapsed;
use tower_service::Service;

use crate::config::Config;
use crate::request::{Read, RequestBody};
use crate::response::{BoxError, ResponseBody};
use answer::Answers;
use handler::Called;
use identify::{Asked, identify};

/// What the client gets.
pub(crate) type Answer<R, E> = Result<Response<ResponseBody<R>>, E>;

/// One request with a key, as it came.
pub(crate) struct Job<I, B> {
    pub(crate) handler: Handler<I>,
    pub(crate) parts: Parts,
    pub(crate) body: B,
    pub(crate) named: Named,
    /// `None` where keys are everybody's.
    pub(crate) tenant: Option<Tenant>,
    /// The key, where the service tells it back.
    pub(crate) echo: Option<(HeaderName, HeaderValue)>,
}

/// One request that the record does not answer.
pub(crate) struct Work<S, I, R, E> {
    pub(crate) handler: Handler<I>,
    pub(crate) parts: Parts,
    pub(crate) body: Read,
    pub(crate) asked: Asked,
    pub(crate) call: ReadyCall<S>,
    pub(crate) reply: Reply<R, E>,
}

/// Answers one request: from the record, or by its work, in a task that outlives its connection. Until that is begun
/// nothing has happened, and a client that goes away ends it.
pub(crate) async fn answer<S, M, I, B, R>(
    idem: Idem<S>,
    mode: M,
    config: Arc<Config>,
    job: Job<I, B>,
) -> Answer<R, I::Error>
where
    S: Store,
    M: Mode<S>,
    I: private::Inner<B, R>,
    B: private::RequestBytes,
    R: private::ResponseBytes,
{
    let echo = job.echo.clone();
    let mut answer = answer_or_work(idem, mode, config, job).await;
    if let (Ok(response), Some((name, value))) = (&mut answer, echo) {
        response.headers_mut().insert(name, value);
    }
    answer
}

async fn answer_or_work<S, M, I, B, R>(
    idem: Idem<S>,
    mode: M,
    config: Arc<Config>,
    job: Job<I, B>,
) -> Answer<R, I::Error>
where
    S: Store,
    M: Mode<S>,
    I: private::Inner<B, R>,
    B: private::RequestBytes,
    R: private::ResponseBytes,
{
    let Job {
        handler,
        parts,
        body,
        named,
        tenant,
        ..
    } = job;
    let answers = Answers(&config);
    let (asked, body) = match identify(&config, &parts, body, named, tenant.as_ref()).await {
        Ok(asked) => asked,
        Err(response) => return Ok(from_memory(response)),
    };
    let call = match asked.call(&idem, &config, Duration::ZERO) {
        Ok(call) => call,
        Err(error) => return Ok(answers.refusal(error, asked.effect.key())),
    };
    match within(config.store_timeout, pin!(call.replay())).await {
        Ok(None) => {}
        Ok(Some(stored)) => return Ok(answers.replay(stored)),
        // What cannot be asked cannot be claimed either, and that is where it is told.
        Err(error) if config.fail_open && error.kind() == ErrorKind::Store => {
            let request = Request::from_parts(parts, RequestBody::read(body.bytes, body.trailers));
            // Boxed, as it is rare, so that the rest is not as large as it.
            return Box::pin(fail_open(&idem, &config, &error, handler, request)).await;
        }
        Err(error) => return Ok(answers.refusal(error, asked.effect.key())),
    }
    let (sender, answer) = oneshot::channel();
    let work = Work {
        handler,
        parts,
        body,
        asked,
        call,
        reply: Reply(Some(sender)),
    };
    // Boxed at once, so that it is not copied on its way into its task.
    idem.spawn(Box::pin(mode.serve(idem.clone(), Arc::clone(&config), work)));
    answer.await.unwrap_or_else(|_| {
        // The runtime is shutting down, or the layer itself failed.
        Ok(answers.internal("The service ended in the middle of the request. Repeat it with the same key."))
    })
}

/// What names the effect of a request.
pub(crate) enum Named {
    /// The client.
    Key(ClientKey),
    /// The body; beside it, the client's step.
    Body(Option<ClientKey>),
}

impl Named {
    fn into_client_key(self) -> Option<ClientKey> {
        match self {
            Self::Key(key) => Some(key),
            Self::Body(step) => step,
        }
    }
}

/// Where the answer goes, if the client still waits for it.
pub(crate) struct Reply<R, E>(Option<oneshot::Sender<Answer<R, E>>>);

impl<R, E> Reply<R, E> {
    /// Answers; whoever went away gets nothing. Only the first answer counts.
    pub(crate) fn send(&mut self, answer: Answer<R, E>) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(answer);
        }
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
            work: Work<S, I, R, I::Error>,
        ) -> impl Future<Output = ()> + Send
        where
            I: Inner<B, R>,
            B: RequestBytes,
            R: ResponseBytes;

        #[doc(hidden)]
        fn check(&self, retention: Duration) -> Result<(), Error>;
    }
}

/// Waits for the store, `limit` at most. What is done at once costs no timer.
async fn within<T, F: Future<Output = Result<T, Error>>>(limit: Duration, mut work: Pin<&mut F>) -> Result<T, Error> {
    if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        return done;
    }
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(elapsed) => Err(Error::store("claim the key: the store does not answer", elapsed)),
    }
}

/// Whether an error is that of [`within`] itself: what was waited for may still be done.
fn is_elapsed(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<Elapsed>())
}

fn is_in_flight<T>(claimed: &Result<T, Error>) -> bool {
    claimed.as_ref().is_err_and(|error| error.kind() == ErrorKind::InFlight)
}

/// Serves a request whose key could not be claimed, as the service was told to. Nothing of it is kept.
async fn fail_open<S, I, B, R>(
    idem: &Idem<S>,
    config: &Config,
    error: &Error,
    handler: Handler<I>,
    request: Request<RequestBody<B>>,
) -> Answer<R, I::Error>
where
    I: private::Inner<B, R>,
{
    let (parts, body) = request.into_parts();
    let action = config.action(&parts);
    tracing::warn!(action, error = %error, "a request is served without protection");
    idem.observe(|observer| observer.failed_open(&action));
    let answers = Answers(config);
    match handler.call(Request::from_parts(parts, body)).await {
        Called::Answered(response) => Ok(answers.failed_open(response.map(ResponseBody::passed))),
        Called::Failed(error) | Called::Unready(error) => Err(error),
        Called::Panicked => Ok(answers.internal("The service failed in the middle of the request.")),
    }
}

/// The answer to what the executor said, and the response of a record.
pub(crate) fn from_memory<R>(response: Response<Bytes>) -> Response<ResponseBody<R>> {
    response.map(ResponseBody::from)
}
