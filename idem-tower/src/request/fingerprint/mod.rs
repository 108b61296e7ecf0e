//! What two requests under one key have to agree in.
//!
//! SHA-256 over parts that each stand behind their length in 8 bytes, the highest first: `idem.http.1`, the method, the
//! path, the names and values of the query, the essence of each `Content-Type`, the way in which the body is compared
//! and what is compared of it. What there may be many of stands behind its count. So no two requests that differ in one
//! of these have one preimage.

use std::borrow::Cow;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Uri};
use idem_core::Digest;
use idem_core::canonical::{self, Mode};
use sha2::{Digest as _, Sha256};

use super::excluded::{Pointer, without};
use super::{multipart, query};

/// How bodies are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// Every body by its bytes, also JSON.
    pub(crate) raw: bool,
    /// `multipart/*` by its parts.
    pub(crate) multipart_by_parts: bool,
    /// Of JSON bodies, what does not count.
    pub(crate) excluded: Vec<Pointer>,
}

/// The URI as the client sent it: routers that strip a prefix put the whole one aside.
pub(crate) fn target(parts: &Parts) -> &Uri {
    #[cfg(feature = "axum")]
    if let Some(original) = parts.extensions.get::<axum::extract::OriginalUri>() {
        return &original.0;
    }
    &parts.uri
}

/// A request as far as it is compared.
pub(crate) struct Seen<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) body: &'r [u8],
}

/// Computes the fingerprint.
pub(crate) fn fingerprint(seen: &Seen<'_>, comparison: &Comparison) -> Digest {
    let target = target(seen.parts);
    let mut hash = Preimage(Vec::with_capacity(256));
    hash.part(b"idem.http.1");
    hash.part(seen.parts.method.as_str().as_bytes());
    hash.part(target.path().as_bytes());
    let pairs = query::pairs(target.query().unwrap_or(""));
    hash.count(pairs.len());
    for (name, value) in &pairs {
        hash.part(name);
        hash.part(value);
    }
    let types = || seen.parts.headers.get_all(CONTENT_TYPE).iter();
    hash.count(types().count());
    for value in types() {
        hash.part(&essence(value.as_bytes()));
    }
    match compared(&seen.parts.headers, seen.body, comparison) {
        Compared::Json(form) => hash.ending(b"json", &[&form]),
        Compared::Bytes(body) => hash.ending(b"bytes", &[body]),
        Compared::Multipart(parts) => hash.ending(b"multipart", &parts),
    }
}

/// What counts of a body.
enum Compared<'b> {
    /// Its canonical form.
    Json(Vec<u8>),
    /// The head and the content of each part.
    Multipart(Vec<&'b [u8]>),
    Bytes(&'b [u8]),
}

fn compared<'b>(headers: &HeaderMap, body: &'b [u8], comparison: &Comparison) -> Compared<'b> {
    if !comparison.raw && is_json(headers) {
        // What is not JSON, or repeats a member, or is too deep, counts as its bytes.
        if let Ok(form) = canonical::from_json(body, Mode::Fingerprint) {
            return Compared::Json(match comparison.excluded.as_slice() {
                [] => form,
                pointers => without(&form, pointers),
            });
        }
    }
    if comparison.multipart_by_parts
        && let Some(boundary) = multipart_boundary(headers)
        && let Some(parts) = multipart::parts(boundary, body)
    {
        let halves = parts.into_iter().flat_map(|(headers, content)| [headers, content]);
        return Compared::Multipart(halves.collect());
    }
    Compared::Bytes(body)
}

/// Small parts are put together before they are hashed, which costs less than to hash each.
struct Preimage(Vec<u8>);

impl Preimage {
    fn part(&mut self, part: &[u8]) {
        self.count(part.len());
        self.0.extend_from_slice(part);
    }

    fn count(&mut self, count: usize) {
        self.0.extend_from_slice(&(count as u64).to_be_bytes());
    }

    /// The digest with what is compared at its end, which may be long.
    fn ending(mut self, way: &[u8], compared: &[&[u8]]) -> Digest {
        self.part(way);
        self.count(compared.len());
        let mut hash = Sha256::new_with_prefix(self.0);
        for part in compared {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Digest::from_bytes(hash.finalize().into())
    }
}

/// Whether there is one `Content-Type` and it says JSON: `application/json` or any `+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else {
        return false;
    };
    let essence = essence(value.as_bytes());
    essence == b"application/json".as_slice() || (essence.ends_with(b"+json") && essence.contains(&b'/'))
}

fn multipart_boundary(headers: &HeaderMap) -> Option<&str> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else {
        return None;
    };
    let text = value.to_str().ok()?;
    text.get(..10)
        .is_some_and(|head| head.eq_ignore_ascii_case("multipart/"))
        .then(|| multipart::boundary(text))
        .flatten()
}

/// Type and subtype in lower case, without parameters.
fn essence(value: &[u8]) -> Cow<'_, [u8]> {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or(value).trim_ascii();
    match essence.iter().any(u8::is_ascii_uppercase) {
        true => essence.to_ascii_lowercase().into(),
        false => essence.into(),
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
