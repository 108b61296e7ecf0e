use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use idem_core::canonical::{self, Mode};
use idem_core::{Error, ErrorKind, Idem, Idempotent, Identified, Retain, Store, Tenant, TenantSource};
use serde::de::DeserializeOwned;

use crate::config::{BodyError, BodySource, Config, Scope, Source};
use crate::layer::IdempotencyLayer;
use crate::problem::{Problem, Rendered};
use crate::profile::Profile;
use crate::request::Pointer;
use crate::serve::Mode as ServeMode;
use crate::status::Disposition;

/// Settings of an [`IdempotencyLayer`]. Each setter names its default; [`build`](Self::build) ends them.
///
/// Whose keys they are has no default: without [`scope`](Self::scope), or [`shared_namespace`](Self::shared_namespace),
/// there is no `build`.
#[must_use = "settings do nothing until `build`"]
pub struct Builder<S, M, K = NoScope> {
    idem: Idem<S>,
    mode: M,
    config: Config,
    faults: Vec<String>,
    scope: std::marker::PhantomData<K>,
}

/// Nobody has said yet whose keys they are.
#[derive(Debug)]
pub struct NoScope(());

/// It is known whose keys they are.
#[derive(Debug)]
pub struct HasScope(());

/// Says that it is known whose keys they are.
#[diagnostic::on_unimplemented(
    message = "nobody has said whose idempotency keys these are",
    label = "two clients that send the same key would get each other's responses",
    note = "say who is asking: `.scope(|parts| parts.extensions.get::<User>().and_then(|user| Tenant::of_principal(&user.id)))`",
    note = "or, where one trusted client sends every request: `.shared_namespace()`"
)]
pub trait Scoped {}

impl Scoped for HasScope {}

impl<S, M, K> Builder<S, M, K> {
    pub(crate) fn new(idem: Idem<S>, mode: M) -> Builder<S, M, NoScope> {
        Builder {
            idem,
            mode,
            config: Config::new(Scope::Shared),
            faults: Vec::new(),
            scope: std::marker::PhantomData,
        }
    }

    pub(crate) fn from_parts(idem: Idem<S>, mode: M, config: Config) -> Builder<S, M, HasScope> {
        Builder {
            idem,
            mode,
            config,
            faults: Vec::new(),
            scope: std::marker::PhantomData,
        }
    }

    fn scoped(mut self, scope: Scope) -> Builder<S, M, HasScope> {
        self.config.scope = scope;
        Builder {
            idem: self.idem,
            mode: self.mode,
            config: self.config,
            faults: self.faults,
            scope: std::marker::PhantomData,
        }
    }

    /// Says whose key a request brings: the principal that authentication has put into the request.
    ///
    /// The same key of two tenants names two effects. `None` is answered with 500, since the layer stands in front of
    /// authentication then, or on a route without; nothing is ever shared by mistake.
    /// [`Tenant::of_principal`] makes a tenant of any text.
    pub fn scope<F>(self, scope: F) -> Builder<S, M, HasScope>
    where
        F: Fn(&Parts) -> Option<Tenant> + Send + Sync + 'static,
    {
        self.scoped(Scope::Of(Arc::new(scope)))
    }

    /// Puts the keys of all clients into one namespace: whoever sends another's key and request gets its response. For a
    /// service with one trusted client only.
    pub fn shared_namespace(self) -> Builder<S, M, HasScope> {
        self.scoped(Scope::Shared)
    }

    /// Answers by another profile's rules: presence of the key, statuses that are stored, scope, retention, ledger, form of
    /// errors. Call it before the setters that change one of these. Default: [`Profile::Ietf`].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.config.take_profile(profile);
        self
    }

    /// The header that carries the key. Default: `Idempotency-Key`.
    pub fn header(mut self, name: HeaderName) -> Self {
        self.config.rules.name = name;
        self
    }

    /// Takes only keys in double quotes, as RFC 9651 writes a String. Default: both forms.
    pub fn strict_sf(mut self) -> Self {
        self.config.rules.strict = true;
        self
    }

    /// How many characters a key has, 1 to 255 at most. Default: that.
    pub fn key_length(mut self, shortest: usize, longest: usize) -> Self {
        self.config.rules.shortest = shortest;
        self.config.rules.longest = longest;
        self
    }

    /// Refuses requests without a key. Default, but with [`Profile::StripeV1`].
    pub fn required(mut self) -> Self {
        self.config.key_required = true;
        self
    }

    /// Lets requests without a key pass unprotected. A malformed key is refused all the same.
    pub fn optional(mut self) -> Self {
        self.config.key_required = false;
        self
    }

    /// Which methods are protected; the others pass. Default: POST and PATCH. Safe methods cannot be.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.config.methods = methods.into_iter().collect();
        self
    }

    /// Lets requests pass unprotected of which `skip` says so. Default: none.
    pub fn skip(mut self, skip: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.config.skip = Some(Arc::new(skip));
        self
    }

    /// Lets a key name one effect for each operation (method and path). Default, but with [`Profile::Acp`]: a key names one
    /// effect, and another operation under it is refused.
    pub fn scope_by_operation(mut self) -> Self {
        self.config.scope_by_operation = true;
        self
    }

    /// The action, as the ledger and the operators get it, without anything that differs from request to request. Default:
    /// method and route, as `POST /orders/{id}/cancel`; where no router of axum has matched one, method and path.
    pub fn action(mut self, action: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.config.action = Some(Arc::new(action));
        self
    }

    /// Derives the key from the body, read as JSON into `T`, instead of taking one that the client chose: a client that
    /// sends none is protected too.
    ///
    /// A repeat agrees with the first request by the classes of `T`'s fields: another payload is refused, another
    /// transient field is not. A body that is not JSON, repeats a member, does not fit `T` or has no key is answered
    /// with 400. Members that `T` does not know are not compared; `#[serde(deny_unknown_fields)]` refuses them.
    ///
    /// The tenant of the request is that of the key: where `T` names one too, the two have to be equal.
    pub fn derive<T: Idempotent + DeserializeOwned>(self) -> Self {
        self.body_source::<T>(false)
    }

    /// As [`derive`](Self::derive); the header is recorded as the caller's step, and required or optional as a key would be.
    pub fn hybrid<T: Idempotent + DeserializeOwned>(self) -> Self {
        self.body_source::<T>(true)
    }

    fn body_source<T: Idempotent + DeserializeOwned>(mut self, step: bool) -> Self {
        let read = |body: &[u8], tenant: Option<&Tenant>| {
            // Judged as it was sent: what serde makes of a repeated member depends on the type.
            canonical::from_json(body, Mode::Fingerprint).map_err(|error| BodyError::Json(error.to_string()))?;
            let input: T = serde_json::from_slice(body).map_err(|error| BodyError::Json(error.to_string()))?;
            let tenant = match (input.tenant(), tenant) {
                (TenantSource::None, _) => None,
                (TenantSource::Call, None) => Some(&Tenant::NONE),
                (_, tenant) => tenant,
            };
            Identified::of(&input, tenant).map_err(BodyError::Key)
        };
        self.config.source = Source::Body(BodySource {
            read: Arc::new(read),
            step,
        });
        self
    }

    /// The longest request body, in bytes; a longer one is answered with 413. Default: 1 MiB.
    ///
    /// A body is in memory while its request is worked on. JSON longer than 1 MiB is compared by its bytes.
    pub fn max_request_bytes(mut self, limit: usize) -> Self {
        self.config.max_request_bytes = limit;
        self
    }

    /// The longest response body that is kept, in bytes. Default: 1 MiB. The first caller gets a longer one, repeats are
    /// told that it is not available.
    pub fn max_response_bytes(mut self, limit: usize) -> Self {
        self.config.max_response_bytes = limit;
        self
    }

    /// Compares every body by its bytes. Default: JSON by its value, others by their bytes.
    pub fn raw(mut self) -> Self {
        self.config.comparison.raw = true;
        self
    }

    /// Compares `multipart/*` bodies by their parts, so that another boundary is not another request. Default: by their
    /// bytes.
    pub fn multipart_by_parts(mut self) -> Self {
        self.config.comparison.multipart_by_parts = true;
        self
    }

    /// Leaves a part of JSON bodies out of the comparison, named by a JSON Pointer (RFC 6901) such as `/requested_at`. May
    /// be called more than once. Default: everything counts.
    pub fn exclude(mut self, pointer: &str) -> Self {
        match Pointer::parse(pointer) {
            Ok(pointer) => self.config.comparison.excluded.push(pointer),
            Err(fault) => self.faults.push(format!("`{pointer}` cannot be excluded: {fault}")),
        }
        self
    }

    /// What becomes of the record by the response's status. Default: that of the profile.
    ///
    /// Marks in the response ([`EffectCommitted`](crate::EffectCommitted) and others) go before it.
    pub fn status_policy(mut self, policy: impl Fn(StatusCode) -> Disposition + Send + Sync + 'static) -> Self {
        self.config.disposition = Some(Arc::new(policy));
        self
    }

    /// Keeps one more response header for repeats. Default: `Content-Type`, `Content-Encoding`, `Content-Language`,
    /// `Content-Disposition`, `Content-Location`, `Location`, `ETag`, `Last-Modified`, `Link`, `Vary`, `Cache-Control`,
    /// `Expires` and `Allow`.
    ///
    /// Those that belong to one caller or one exchange cannot be kept: cookies, challenges, dates, request ids, CORS.
    pub fn keep_header(mut self, name: HeaderName) -> Self {
        self.config.kept_headers.push(name);
        self
    }

    /// How long a response is kept and replayed, from its completion. Default: 90 days; 24 hours with the other profiles.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.config.retention = retention;
        self
    }

    /// Keeps the digest of responses and not the responses, for those that hold a secret: repeats are told that the
    /// response is not available. Default: that of the [`Idem`]'s settings, which keep them unless they say otherwise.
    pub fn retain(mut self, retain: Retain) -> Self {
        self.config.retain = Some(retain);
        self
    }

    /// Writes nothing to the ledger: an expired key is a new one. Default with the profiles other than [`Profile::Ietf`].
    pub fn without_ledger(mut self) -> Self {
        self.config.ledger = false;
        self
    }

    /// Refuses an expired key for this much longer, on a route without ledger. Default: an expired key is a new one.
    pub fn tombstones(mut self, time: Duration) -> Self {
        self.config.tombstone = Some(time);
        self
    }

    /// How long a repeat waits for the request that is in flight, without a connection, before it is told so. Default: it
    /// does not wait.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.config.wait = wait;
        self
    }

    /// How long the store may take to claim a key, before the request is answered with 503. Default: 10 seconds.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.config.store_timeout = limit;
        self
    }

    /// Serves requests without protection while the store does not answer, marked with `Idempotency-Failed-Open: true` and
    /// told to the observer. Repeats then have their effect again. Default: 503, the handler does not run.
    pub fn fail_open(mut self) -> Self {
        self.config.fail_open = true;
        self
    }

    /// The header that marks replays, with the value `true`. Default: `Idempotent-Replayed`.
    pub fn replay_marker(mut self, name: HeaderName) -> Self {
        self.config.replay_marker = name;
        self
    }

    /// Renders the layer's own answers: media type and body, the status stands. Default: that of the profile.
    pub fn problem_renderer(mut self, renderer: impl Fn(&Problem) -> Rendered + Send + Sync + 'static) -> Self {
        self.config.renderer = Some(Arc::new(renderer));
        self
    }

    /// What the `type` of problems begins with; their slug follows. Default: the documentation of [`ProblemKind`](crate::ProblemKind).
    pub fn problem_base(mut self, base: impl Into<Cow<'static, str>>) -> Self {
        self.config.problem_base = base.into();
        self
    }

    /// Where clients read about keys, for the `Link` of an answer to a request without one. Default: the documentation of
    /// this crate.
    pub fn docs(mut self, uri: &str) -> Self {
        match HeaderValue::try_from(format!("<{uri}>; rel=\"describedby\"")) {
            Ok(link) => self.config.docs = link,
            Err(_) => self.faults.push(format!("`{}` is no URI", uri.escape_debug())),
        }
        self
    }
}

impl<S: Store, M: ServeMode<S>, K: Scoped> Builder<S, M, K> {
    /// Checks the settings and makes the layer.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](ErrorKind::Misuse) when settings are wrong or contradict each other, naming them.
    pub fn build(self) -> Result<IdempotencyLayer<S, M>, Error> {
        let fault = self.faults.into_iter().next().or_else(|| self.config.fault());
        if let Some(fault) = fault {
            return Err(Error::new(ErrorKind::Misuse, fault));
        }
        self.idem.check_retention(self.config.retention)?;
        self.mode.check(self.config.retention)?;
        Ok(IdempotencyLayer::from_parts(self.idem, self.mode, self.config))
    }
}
