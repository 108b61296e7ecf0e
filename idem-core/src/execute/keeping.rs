//! Outcomes on their way into the record and back, through the codec.

use super::Idem;
use super::prepared::Prepared;
use crate::codec::{CodecError, Kept};
use crate::error::{Error, ErrorKind};
use crate::key::IdempotencyKey;
use crate::record::{Outcome, OutcomeKind};
use crate::store::Store;

/// Brings the outcome of a transaction into its stored form, or says why nothing is committed.
pub(super) fn keep(call: &Prepared, outcome: Outcome) -> Result<Kept, Error> {
    let kept = call.keeper.keep(call.key(), outcome);
    kept.map_err(|source| unkept(&format!("the outcome of `{}`", call.action), source))
}

/// Brings the outcome of an effect that happened into its stored form. It is recorded in every case; what cannot be
/// had again if the codec fails is its value.
pub(super) fn keep_what_happened(call: &Prepared, outcome: Outcome) -> Kept {
    let unavailable = Kept::unavailable(&outcome);
    call.keeper.keep(call.key(), outcome).unwrap_or_else(|error| {
        tracing::warn!(action = call.action, key = call.key().short(), error = %error, "the outcome cannot be encoded; repeats will not get it");
        unavailable
    })
}

pub(super) fn unkept(what: &str, source: CodecError) -> Error {
    Error::store(format!("encode {what}, so nothing was committed: {source}"), source)
}

/// Brings a recorded outcome back into the form in which its value is read.
pub(super) fn open(call: &Prepared, outcome: Outcome) -> Result<Outcome, Error> {
    let kind = outcome.kind();
    let opened = call.keeper.open(call.key(), outcome);
    opened.map_err(|source| {
        let (ended, what) = match kind {
            OutcomeKind::Success => ("was executed", "result"),
            OutcomeKind::Declined => ("ended in a final error", "value"),
            OutcomeKind::Alias => ("is on record under another key", "key"),
        };
        let message = format!(
            "`{}` {ended} under key {}, but its {what} is not available: {source}; it is not run again",
            call.action,
            call.key().short()
        );
        Error::new(ErrorKind::ResultUnavailable, message).with_source(source)
    })
}

impl<S: Store> Idem<S> {
    /// Decodes the outcome of a record, as [`peek`](Self::peek) found it, by the codec that is set: what it returns
    /// can be [read](Outcome::decode).
    ///
    /// # Errors
    ///
    /// Kind [`ResultUnavailable`](ErrorKind::ResultUnavailable) when the codec cannot, saying why.
    pub fn open_outcome(&self, key: &IdempotencyKey, outcome: &Outcome) -> Result<Outcome, Error> {
        let opened = self.shared.settings.keeper().open(key, outcome.clone());
        opened.map_err(|source| {
            let message = format!("the outcome of key {} is not available: {source}", key.short());
            Error::new(ErrorKind::ResultUnavailable, message).with_source(source)
        })
    }
}
