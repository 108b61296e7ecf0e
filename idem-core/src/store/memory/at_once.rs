//! The steps of a store without transactions, each under one lock.

use super::state::State;
use super::{Judged, corrupt, judge_completion};
use crate::error::Error;
use crate::ledger::Entry;
use crate::state::{Event, Reply, transition};
use crate::store::{Completed, Completion, StoreClaim, atomic};

pub(super) fn claim(state: &mut State, claim: &StoreClaim, intended: Option<&Entry>) -> Result<Reply, Error> {
    if !state.is_free(claim) {
        return Ok(Reply::InFlight { lease_left: None });
    }
    let now = state.now();
    let ledger = state.ledger().view(&claim.key, claim.place.as_ref(), &[]);
    let record = state.record(&claim.key).cloned();
    let (record, reply) = transition(record, &ledger, Event::Claim(claim.claim.clone()), now).map_err(corrupt)?;
    let (Reply::Claimed { .. } | Reply::OutcomeUnknown { .. }, Some(mut record)) = (&reply, record) else {
        return Ok(reply);
    };
    if matches!(reply, Reply::Claimed { .. }) {
        record.expires_at = Some(record.created_at.after(claim.claim.kept()));
    }
    state.put(claim.key.clone(), record);
    if let Some(entry) = intended.and_then(|intended| atomic::entry_of_claim(&reply, intended)) {
        state.append(entry, now);
    }
    Ok(reply)
}

pub(super) fn complete(state: &mut State, completion: &Completion) -> Result<Completed, Error> {
    let now = state.now();
    match judge_completion(state.record(&completion.key), completion, now)? {
        Judged::Stale => return Ok(Completed::Stale),
        Judged::Stands => return Ok(Completed::Done),
        Judged::Completes { record, .. } => state.put(completion.key.clone(), record),
    }
    if let Some(entry) = &completion.entry {
        state.append(entry.clone(), now);
    }
    Ok(Completed::Done)
}
