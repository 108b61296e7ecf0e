use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use idem_core::{Idem, Store};
use tower_service::Service;

use crate::config::{Config, Scope, Source};
use crate::future::ResponseFuture;
use crate::header::InvalidKey;
use crate::problem::ProblemKind;
use crate::request::RequestBody;
use crate::response::ResponseBody;
use crate::serve::Handler;
use crate::serve::private::{Inner, RequestBytes, ResponseBytes};
use crate::serve::{Job, Mode, Named, answer};

/// The service that [`IdempotencyLayer`](crate::IdempotencyLayer) makes of another.
///
/// # Panics
///
/// A request with a key panics outside of a Tokio runtime.
pub struct Idempotency<I, S, M> {
    inner: I,
    idem: Idem<S>,
    mode: M,
    config: Arc<Config>,
}

impl<I, S, M> Idempotency<I, S, M> {
    pub(crate) fn new(inner: I, idem: Idem<S>, mode: M, config: Arc<Config>) -> Self {
        Self {
            inner,
            idem,
            mode,
            config,
        }
    }
}

impl<I, S, M, B, R> Service<Request<B>> for Idempotency<I, S, M>
where
    I: Inner<B, R> + Service<Request<RequestBody<B>>, Response = Response<R>>,
    S: Store,
    M: Mode<S>,
    B: RequestBytes,
    R: ResponseBytes,
{
    type Response = Response<ResponseBody<R>>;
    type Error = I::Error;
    type Future = ResponseFuture<I::Future, R, I::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // What was made ready is this request's; the next one readies the clone.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let config = &self.config;
        let (parts, body) = request.into_parts();

        let is_protected =
            config.methods.contains(&parts.method) && !config.skip.as_ref().is_some_and(|skip| skip(&parts));
        let named = match is_protected {
            true => self.named(&parts),
            false => Ok(None),
        };
        let named = match named {
            Ok(Some(named)) => named,
            Ok(None) => {
                let request = Request::from_parts(parts, RequestBody::passed(body));
                return ResponseFuture::passed(inner.call(request));
            }
            Err(response) => return ResponseFuture::answered(response),
        };
        let tenant = match &config.scope {
            Scope::Shared => None,
            Scope::Of(scope) => match scope(&parts) {
                Some(tenant) => Some(tenant),
                None => {
                    tracing::error!(
                        "a request with a key names no principal, so it is refused; put the idempotency layer inside of authentication, and let `scope` find what that has left in the request"
                    );
                    let problem = config.fault_of(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "The service cannot tell who is asking, so it cannot tell whose key this is. Nothing was done.",
                    );
                    return ResponseFuture::answered(config.render(&problem));
                }
            },
        };
        let echo = config
            .profile
            .echoes_key()
            .then(|| {
                let name = config.rules.name.clone();
                parts.headers.get(&name).cloned().map(|value| (name, value))
            })
            .flatten();
        let job = Job {
            handler: Handler::ready(inner),
            parts,
            body,
            named,
            tenant,
            echo,
        };
        let answer = answer(self.idem.clone(), self.mode.clone(), Arc::clone(config), job);
        ResponseFuture::worked_on(Box::pin(answer))
    }
}

impl<I, S, M> Idempotency<I, S, M> {
    /// What names the effect; `None` if the request passes.
    #[expect(
        clippy::result_large_err,
        reason = "it is the answer, which a box would be opened for at once"
    )]
    fn named<R>(&self, parts: &http::request::Parts) -> Result<Option<Named>, Response<ResponseBody<R>>> {
        let config = &self.config;
        let reads_header = match &config.source {
            Source::Header => true,
            Source::Body(source) => source.step,
        };
        let key = match reads_header {
            true => config
                .rules
                .read(&parts.headers)
                .map_err(|error| self.invalid(&error))?,
            false => None,
        };
        match (&config.source, key) {
            (_, None) if reads_header && config.key_required => Err(config.problem(ProblemKind::KeyMissing)),
            (Source::Header, key) => Ok(key.map(Named::Key)),
            (Source::Body(_), key) => Ok(Some(Named::Body(key))),
        }
    }

    fn invalid<R>(&self, error: &InvalidKey) -> Response<ResponseBody<R>> {
        let detail = format!(
            "The key in `{}` cannot be used: {}. Nothing was done.",
            self.config.rules.name, error
        );
        self.config.problem_with(ProblemKind::KeyInvalid, detail.into(), None)
    }
}

impl<I: Clone, S, M: Clone> Clone for Idempotency<I, S, M> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            idem: self.idem.clone(),
            mode: self.mode.clone(),
            config: Arc::clone(&self.config),
        }
    }
}

impl<I: std::fmt::Debug, S, M> std::fmt::Debug for Idempotency<I, S, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Idempotency")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
