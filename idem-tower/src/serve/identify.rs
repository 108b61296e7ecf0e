//! From a request to the effect that it asks for.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use idem_core::{Error, Idem, Identified, KeyError, ReadyCall, Store, Tenant};

use super::Named;
use crate::config::{BodyError, Config, Source};
use crate::problem::ProblemKind;
use crate::request::{Read, ReadError, Seen, fingerprint, read, target};

/// What a request asks for.
pub(crate) struct Asked {
    pub(crate) effect: Identified,
    pub(crate) named: Named,
}

impl Asked {
    /// One call for it. That the record may answer is asked apart, by [`ReadyCall::replay`].
    pub(super) fn call<S: Store>(
        &self,
        idem: &Idem<S>,
        config: &Config,
        wait: Duration,
    ) -> Result<ReadyCall<S>, Error> {
        let mut call = idem
            .call(&self.effect)
            .detached()
            .probe(false)
            .wait(wait)
            .retention(config.retention)
            // The layer's own limit counts the bytes of the body, and not those of its record.
            .max_outcome_bytes(usize::MAX);
        if let Some(retain) = config.retain {
            call = call.retain(retain);
        }
        if !config.ledger {
            call = call.without_ledger();
        }
        if let Some(time) = config.tombstone {
            call = call.tombstone(time);
        }
        if let Named::Body(Some(step)) = &self.named {
            call = call.step_id(step.as_str());
        }
        call.ready()
    }
}

/// Reads the body and derives the effect; else the answer that says what is wrong.
pub(super) async fn identify<B: Body>(
    config: &Config,
    parts: &Parts,
    body: B,
    named: Named,
    tenant: Option<&Tenant>,
) -> Result<(Asked, Read), Response<Bytes>> {
    let body = match read(body, config.max_request_bytes).await {
        Ok(body) => body,
        Err(ReadError::TooLarge) => return Err(config.problem(ProblemKind::BodyTooLarge)),
        Err(ReadError::Broken) => {
            let problem = config.fault_of(
                StatusCode::BAD_REQUEST,
                "The request body broke off. Nothing was done; repeat the request with the same key.",
            );
            return Err(config.render(&problem));
        }
    };
    let effect = match (&named, &config.source) {
        (Named::Key(key), _) => {
            let path = target(parts).path();
            let operation = config
                .scope_by_operation
                .then(|| format!("{} {path}", parts.method.as_str()));
            let seen = Seen {
                parts,
                body: &body.bytes,
            };
            let digest = fingerprint(&seen, &config.comparison);
            let tenant = tenant.unwrap_or(&Tenant::NONE);
            Identified::of_client(tenant, key, operation.as_deref(), &config.action(parts), &digest)
                .map(|effect| match path.len() <= LONGEST_SUBJECT {
                    true => effect.subject(path),
                    false => effect,
                })
                .map_err(BodyError::Key)
        }
        (Named::Body(_), Source::Body(source)) => (source.read)(&body.bytes, tenant),
        (Named::Body(_), Source::Header) => Err(BodyError::Json("the route takes no key from the body".into())),
    };
    match effect {
        Ok(effect) => Ok((Asked { effect, named }, body)),
        Err(error) => Err(config.problem_with(ProblemKind::KeyInvalid, why(error), None)),
    }
}

fn why(error: BodyError) -> Cow<'static, str> {
    match error {
        BodyError::Json(reason) => format!(
            "The body cannot be read, so no key can be derived from it: {reason}. Nothing was done; correct the body."
        ),
        BodyError::Key(error) => key_error(&error),
    }
    .into()
}

fn key_error(error: &KeyError) -> String {
    format!("No key can be derived from the body: {error}. Nothing was done; correct the body.")
}

/// In bytes, as the ledger takes it.
const LONGEST_SUBJECT: usize = 1024;
