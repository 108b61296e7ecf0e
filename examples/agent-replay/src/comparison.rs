//! What would have happened had the identity of a call been made otherwise, counted from the recording alone.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::recording::Call;

/// Effects by three ways to tell calls apart, and what lies between them.
///
/// `canonical` = `effects` + `reworded` + `changed_payload` + `place_taken`, and `raw` − `canonical` calls differ in
/// nothing but formatting and the order of members.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Effects if the arguments as the model wrote them were hashed.
    pub raw: usize,
    /// Effects if their canonical form were hashed.
    pub canonical: usize,
    /// Effects with the keys of `tools`.
    pub effects: usize,
    /// Saved: only wording differed that is no part of what was intended.
    pub reworded: usize,
    /// Refused: the model changed its mind about the payload.
    pub changed_payload: usize,
    /// Refused: another booking holds the place of this one.
    pub place_taken: usize,
    /// Let through: effects of a later attempt on a target that an earlier attempt had acted on, by tool, with the
    /// customers' requests.
    pub let_through: BTreeMap<String, Vec<i64>>,
}

impl Comparison {
    pub fn of(calls: &[Call], once_per: bool) -> Self {
        let mut counts = Self::default();
        let (mut raw, mut canonical, mut places) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut done = HashMap::new();
        let mut first_attempt = HashMap::new();
        // A call that failed has no effect, whichever way its identity is made.
        for call in calls.iter().filter(|call| !call.failed()) {
            let (action, target) = (call.tool.action(), call.tool.target());
            raw.insert((call.task, action, &call.arguments));
            let is_another = canonical.insert((call.task, action, &call.canonical));
            match done.entry(call.key.as_str()) {
                Entry::Occupied(held) if *held.get() != &call.fingerprint => {
                    counts.changed_payload += usize::from(is_another)
                }
                Entry::Occupied(_) => counts.reworded += usize::from(is_another),
                Entry::Vacant(_) if once_per && call.place.as_ref().is_some_and(|place| !places.insert(place)) => {
                    counts.place_taken += usize::from(is_another);
                }
                Entry::Vacant(free) => {
                    free.insert(&call.fingerprint);
                    counts.effects += 1;
                    let first = *first_attempt.entry((call.task, action, target)).or_insert(call.trial);
                    if first != call.trial {
                        counts.let_through.entry(action.to_owned()).or_default().push(call.task);
                    }
                }
            }
        }
        (counts.raw, counts.canonical) = (raw.len(), canonical.len());
        counts
    }
}

/// The members of the payload that differ between two calls with one key.
pub fn changed_members(one: &Call, other: &Call) -> Vec<String> {
    let (one, other) = (one.tool.details(), other.tool.details());
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name))
        .cloned()
        .collect()
}
