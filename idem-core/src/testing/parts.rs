//! What the executor hands to a store for an intent.

use std::time::Duration;

use super::Intent;
use crate::key::derive;
use crate::ledger::{Detail, Entry, EntryKind};
use crate::record::{Outcome, OutcomeKind, OwnerToken};
use crate::state::Claim;
use crate::store::{Completion, StoreClaim};

pub(super) struct Parts {
    pub(super) claim: StoreClaim,
    pub(super) completion: Completion,
}

pub(super) fn parts(intent: &Intent) -> Parts {
    let derived = derive(intent, None).expect("intents of the kit have keys");
    let owner = OwnerToken::random().expect("the operating system gives random bytes");
    let outcome = Outcome::encode(OutcomeKind::Success, &7).expect("a number");
    let entry = Entry {
        key: derived.key.clone(),
        generation: 1,
        attempt: 1,
        kind: EntryKind::Executed,
        reason: None,
        action: "kit.act".to_owned(),
        fingerprint: derived.fingerprint.clone(),
        step_id: None,
        run_id: None,
        payload_digest: derived.payload_digest(),
        outcome_digest: outcome.digest(),
        place: None,
        frees_place: false,
        actor: None,
        references: None,
        detail: Detail::new(derived.subject, "{}".to_owned(), None).expect("a salt"),
    };
    let claim = Claim {
        fingerprint: derived.fingerprint,
        owner,
        lease: None,
        retention: Duration::from_secs(3600),
        tombstone: None,
        step_id: None,
        run_id: None,
    };
    Parts {
        claim: StoreClaim {
            key: derived.key.clone(),
            claim,
            place: None,
            alias: None,
        },
        completion: Completion {
            key: derived.key,
            generation: 1,
            attempt: 1,
            owner,
            outcome,
            retention: Duration::from_secs(3600),
            entry: Some(entry),
        },
    }
}

impl Parts {
    /// The entry of the completion.
    pub(super) fn entry(self) -> Entry {
        self.completion.entry.expect("parts are made with an entry")
    }
}

/// Moves a completion to another attempt.
pub(super) fn at(completion: &mut Completion, generation: u32, attempt: u32) {
    (completion.generation, completion.attempt) = (generation, attempt);
    if let Some(entry) = &mut completion.entry {
        (entry.generation, entry.attempt) = (generation, attempt);
    }
}

/// The entry that goes with a leased claim of an intent.
pub(super) fn intended(intent: &Intent) -> Entry {
    Entry {
        kind: EntryKind::Intended,
        outcome_digest: None,
        ..parts(intent).entry()
    }
}
