//! The settings of one layer, as its services read them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use idem_core::{Identified, KeyError, Retain, Tenant};

use crate::header::Rules;
use crate::problem::{Problem, ProblemKind, Rendered};
use crate::profile::Profile;
use crate::request::{Comparison, target};
use crate::response::{KEPT, is_never_kept};
use crate::status::Disposition;

pub(crate) type OfParts<T> = Arc<dyn Fn(&Parts) -> T + Send + Sync>;
type OfBody = Arc<dyn Fn(&[u8], Option<&Tenant>) -> Result<Identified, BodyError> + Send + Sync>;
type OfStatus = Arc<dyn Fn(StatusCode) -> Disposition + Send + Sync>;
type OfProblem = Arc<dyn Fn(&Problem) -> Rendered + Send + Sync>;

/// Whose keys they are.
#[derive(Clone)]
pub(crate) enum Scope {
    /// Those of whom the function finds in the request.
    Of(OfParts<Option<Tenant>>),
    /// Everybody's.
    Shared,
}

/// What names an effect.
#[derive(Clone)]
pub(crate) enum Source {
    /// The header.
    Header,
    /// The body, by the type that it is read as.
    Body(BodySource),
}

#[derive(Clone)]
pub(crate) struct BodySource {
    /// The second is the tenant of the request; `None` where it is shared.
    pub(crate) read: OfBody,
    /// Whether the header is the caller's step.
    pub(crate) step: bool,
}

/// Why a body names no effect.
pub(crate) enum BodyError {
    Json(String),
    Key(KeyError),
}

#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) profile: Profile,
    pub(crate) rules: Rules,
    pub(crate) key_required: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) scope: Scope,
    pub(crate) scope_by_operation: bool,
    pub(crate) source: Source,
    pub(crate) skip: Option<OfParts<bool>>,
    pub(crate) action: Option<OfParts<String>>,
    pub(crate) comparison: Comparison,
    pub(crate) max_request_bytes: usize,
    pub(crate) max_response_bytes: usize,
    pub(crate) disposition: Option<OfStatus>,
    pub(crate) kept_headers: Vec<HeaderName>,
    pub(crate) retention: Duration,
    /// That of the executor unless it is set.
    pub(crate) retain: Option<Retain>,
    pub(crate) ledger: bool,
    pub(crate) tombstone: Option<Duration>,
    pub(crate) wait: Duration,
    pub(crate) store_timeout: Duration,
    pub(crate) fail_open: bool,
    pub(crate) replay_marker: HeaderName,
    pub(crate) renderer: Option<OfProblem>,
    pub(crate) problem_base: Cow<'static, str>,
    pub(crate) docs: HeaderValue,
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// What a response says that was made without protection.
pub(crate) const FAILED_OPEN: HeaderName = HeaderName::from_static("idempotency-failed-open");

impl Config {
    pub(crate) fn new(scope: Scope) -> Self {
        let profile = Profile::default();
        Self {
            profile,
            rules: Rules {
                name: IDEMPOTENCY_KEY,
                strict: false,
                shortest: 1,
                longest: 255,
            },
            key_required: profile.is_key_required(),
            methods: vec![Method::POST, Method::PATCH],
            scope,
            scope_by_operation: profile.scopes_by_operation(),
            source: Source::Header,
            skip: None,
            action: None,
            comparison: Comparison::default(),
            max_request_bytes: 1 << 20,
            max_response_bytes: 1 << 20,
            disposition: None,
            kept_headers: KEPT.to_vec(),
            retention: profile.retention(),
            retain: None,
            ledger: profile.has_ledger(),
            tombstone: None,
            wait: Duration::ZERO,
            store_timeout: Duration::from_secs(10),
            fail_open: false,
            replay_marker: IDEMPOTENT_REPLAYED,
            renderer: None,
            problem_base: Cow::Borrowed(concat!(
                "https://docs.rs/idem-tower/",
                env!("CARGO_PKG_VERSION"),
                "/idem_tower/enum.ProblemKind.html#"
            )),
            docs: HeaderValue::from_static(concat!(
                "<https://docs.rs/idem-tower/",
                env!("CARGO_PKG_VERSION"),
                "/idem_tower/>; rel=\"describedby\""
            )),
        }
    }

    pub(crate) fn take_profile(&mut self, profile: Profile) {
        self.profile = profile;
        self.key_required = profile.is_key_required();
        self.scope_by_operation = profile.scopes_by_operation();
        self.ledger = profile.has_ledger();
        self.retention = profile.retention();
    }

    /// What is wrong with the settings, if something is.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Some(name) = self
            .kept_headers
            .iter()
            .find(|name| is_never_kept(name) || **name == self.rules.name || **name == self.replay_marker)
        {
            return Some(format!(
                "the response header `{name}` belongs to one caller or one exchange and cannot be kept for repeats; leave it out of `keep_header`"
            ));
        }
        if self.rules.shortest == 0 || self.rules.shortest > self.rules.longest || self.rules.longest > 255 {
            return Some(format!(
                "keys of {} to {} characters were asked for; a key has 1 to 255",
                self.rules.shortest, self.rules.longest
            ));
        }
        let safe = self.methods.iter().find(|method| method.is_safe());
        if let Some(method) = safe {
            return Some(format!(
                "{method} is a safe method, which has no effect to protect; leave it out of `methods`"
            ));
        }
        None
    }

    pub(crate) fn keeps(&self, name: &HeaderName) -> bool {
        self.kept_headers.contains(name)
    }

    pub(crate) fn disposition(&self, status: StatusCode) -> Disposition {
        match &self.disposition {
            Some(disposition) => disposition(status),
            None => self.profile.disposition(status),
        }
    }

    /// Method and route, as the ledger and the operators get it.
    pub(crate) fn action(&self, parts: &Parts) -> String {
        if let Some(action) = &self.action {
            return action(parts);
        }
        let method = parts.method.as_str();
        let action = match route(parts) {
            Some(route) => format!("{method} {route}"),
            None => format!("{method} {}", target(parts).path()),
        };
        match action.len() <= LONGEST_ACTION {
            true => action,
            false => format!("{method} #{}", idem_core::Digest::of(action)),
        }
    }

    pub(crate) fn problem<B: From<bytes::Bytes>>(&self, kind: ProblemKind) -> Response<B> {
        self.problem_with(kind, kind.detail().into(), None)
    }

    pub(crate) fn problem_with<B: From<bytes::Bytes>>(
        &self,
        kind: ProblemKind,
        detail: Cow<'static, str>,
        retry_after: Option<u64>,
    ) -> Response<B> {
        self.render(&Problem {
            kind: Some(kind),
            status: self.profile.status(kind),
            detail,
            retry_after,
            base: self.problem_base.clone(),
        })
    }

    /// Where the service itself is at fault, or the request is none.
    pub(crate) fn fault_of(&self, status: StatusCode, detail: &'static str) -> Problem {
        Problem {
            kind: None,
            status,
            detail: detail.into(),
            retry_after: None,
            base: self.problem_base.clone(),
        }
    }

    pub(crate) fn render<B: From<bytes::Bytes>>(&self, problem: &Problem) -> Response<B> {
        let rendered = match &self.renderer {
            Some(renderer) => renderer(problem),
            None => self.profile.render(problem),
        };
        rendered.into_response(problem, Some(&self.docs))
    }
}

/// In bytes, as the ledger takes it.
const LONGEST_ACTION: usize = 255;

/// The route that a router has matched, as it is written in the program.
pub(crate) fn route(parts: &Parts) -> Option<&str> {
    #[cfg(feature = "axum")]
    if let Some(route) = parts.extensions.get::<axum::extract::MatchedPath>() {
        return Some(route.as_str());
    }
    let _ = parts;
    None
}
