//! What a caller is told when its claim was not won.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::Done;
use super::keeping::open;
use super::prepared::Prepared;
use crate::error::{Error, ErrorKind};
use crate::ledger::{LedgerRef, Reason};
use crate::record::{Outcome, OutcomeKind};
use crate::state::Reply;

/// How soon a caller may ask again when no lease tells.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// The reason to put on record when a reply turns an attempt away.
pub(crate) fn refusal_of(reply: &Reply) -> Option<Reason> {
    match reply {
        Reply::Mismatch => Some(Reason::Mismatch),
        Reply::PlaceTaken(_) => Some(Reason::OncePer),
        Reply::Revoked(_) => Some(Reason::Revoked),
        _ => None,
    }
}

/// Translates every reply but [`Reply::Claimed`].
pub(crate) fn answer<T: DeserializeOwned>(reply: Reply, call: &Prepared) -> Result<Done<T>, Error> {
    let action = &call.action;
    let key = call.key().short();
    match reply {
        Reply::Replay(outcome) => replay(outcome, call),
        Reply::InFlight { lease_left } => Err(in_flight(call, lease_left)),
        Reply::Mismatch => Err(mismatch(call)),
        Reply::OutcomeUnknown { .. } => Err(Error::new(
            ErrorKind::OutcomeUnknown,
            format!(
                "an attempt of `{action}` under key {key} may have had its effect; find out and resolve it before anything is run again"
            ),
        )),
        Reply::AlreadyExecuted(entry) => Err(already_executed(
            format!(
                "`{action}` was executed under key {key}{}; its result is not kept any more, and it is not run again",
                by_step(&entry)
            ),
            entry,
        )),
        Reply::PlaceTaken(entry) => Err(place_taken(call, entry)),
        Reply::Revoked(outcome) => Err(revoked(outcome, call)),
        Reply::Claimed { .. } | Reply::Aliased(_) | Reply::Done | Reply::Stale | Reply::Refused(_) => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the store answered a claim of key {key} with {reply:?}, which is no answer to a claim"),
        )),
    }
}

pub(crate) fn mismatch(call: &Prepared) -> Error {
    let message = format!(
        "`{}` was asked for under key {} with another payload; nothing was run. Send the first payload again, or choose another key if this is another effect",
        call.action,
        call.key().short()
    );
    Error::new(ErrorKind::Mismatch, message)
}

pub(crate) fn in_flight(call: &Prepared, lease_left: Option<Duration>) -> Error {
    let message = format!(
        "another attempt of `{}` under key {} is running; send the same call again later",
        call.action,
        call.key().short()
    );
    Error::new(ErrorKind::InFlight, message).with_retry_after(Some(lease_left.unwrap_or(ASK_AGAIN)))
}

pub(crate) fn place_taken(call: &Prepared, holder: LedgerRef) -> Error {
    let message = format!(
        "`{}` may happen once for its `once_per` place, which key {} holds{}; nothing was run",
        call.action,
        holder.key,
        by_step(&holder)
    );
    already_executed(message, holder)
}

fn already_executed(message: String, entry: LedgerRef) -> Error {
    Error::new(ErrorKind::AlreadyExecuted, message).with_entry(entry)
}

pub(crate) fn declined(call: &Prepared, outcome: Outcome) -> Error {
    let message = format!(
        "`{}` under key {} ended in a final error; repeats get the same",
        call.action,
        call.key().short()
    );
    Error::new(ErrorKind::Declined, message).with_outcome(Some(outcome))
}

/// What was undone is at hand if it can be decoded, and as it is stored otherwise.
fn revoked(outcome: Option<Outcome>, call: &Prepared) -> Error {
    let message = format!(
        "`{}` under key {} was done and then undone; a repeat does not do it again",
        call.action,
        call.key().short()
    );
    let error = Error::new(ErrorKind::Revoked, message);
    let Some(stored) = outcome else {
        return error;
    };
    match open(call, stored.clone()) {
        Ok(opened) => error.with_outcome(Some(opened)),
        Err(unavailable) => error.with_source(unavailable).with_outcome(Some(stored)),
    }
}

fn replay<T: DeserializeOwned>(outcome: Outcome, call: &Prepared) -> Result<Done<T>, Error> {
    // Before its kind is believed: a codec that authenticates binds it.
    let outcome = open(call, outcome)?;
    if outcome.kind() == OutcomeKind::Declined {
        return Err(declined(call, outcome));
    }
    let unavailable = |why: &str| {
        let message = format!(
            "`{}` was executed under key {}, but its result {why}; it is not run again",
            call.action,
            call.key().short()
        );
        Error::new(ErrorKind::ResultUnavailable, message)
    };
    match outcome.decode() {
        Some(Ok(value)) => Ok(Done::Replayed(value)),
        Some(Err(source)) => Err(unavailable("cannot be read as what this call returns").with_source(source)),
        None if outcome.is_discarded() => Err(unavailable("was not kept, by choice (`Retain::DigestOnly`)")),
        None => Err(unavailable("was not kept: it was too large, or could not be written")),
    }
}

fn by_step(entry: &LedgerRef) -> String {
    match (&entry.run_id, &entry.step_id) {
        (Some(run), Some(step)) => format!(" (run {run}, step {step})"),
        (Some(run), None) => format!(" (run {run})"),
        (None, Some(step)) => format!(" (step {step})"),
        (None, None) => String::new(),
    }
}
