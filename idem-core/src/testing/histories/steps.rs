//! The events of a history, drawn by a generator that can be started again from its seed.

use std::fmt;
use std::time::Duration;

use super::model::Model;
use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::{Entry, EntryKind, Reason, alias_for};
use crate::record::{Outcome, OutcomeKind, OwnerToken, Recovery};
use crate::state::{AttemptId, Claim, Settlement, Tombstone};
use crate::store::{Alias, Completion, StoreClaim};
use crate::testing::Intent;
use crate::testing::parts::{Parts, at, parts};

/// One event.
#[derive(Clone)]
pub(super) enum Step {
    /// A claim with a lease.
    Claim { claim: StoreClaim, intended: Option<Entry> },
    /// A claim in a transaction, and its outcome; without one the transaction is rolled back.
    Transact {
        claim: StoreClaim,
        completion: Option<Completion>,
    },
    /// An outcome of a claim with a lease.
    Complete(Completion),
    Settle {
        key: IdempotencyKey,
        event: Settlement,
        entries: Vec<Entry>,
    },
    /// The clock goes on by so many milliseconds, or back.
    Jump(i64),
    /// Everything that has expired is removed.
    Purge,
}

pub(super) const PLACES: [[u8; 32]; 2] = [[b'p'; 32], [b'q'; 32]];

/// Leases, retentions and horizons are of this order, and jumps of the clock too.
const HOUR: Duration = Duration::from_secs(3600);

/// Who takes part.
pub(super) struct Cast {
    pub(super) keys: Vec<IdempotencyKey>,
    intents: Vec<Intent>,
    jumps: bool,
    transacts: bool,
    last: Option<Step>,
    random: SplitMix,
}

impl Cast {
    pub(super) fn new(seed: u64, jumps: bool, transacts: bool) -> Self {
        let first = Intent::new("a");
        let intents = vec![first.clone(), first.case("b"), first.case("c")];
        let keys = intents.iter().map(|intent| parts(intent).claim.key).collect();
        Self {
            keys,
            intents,
            jumps,
            transacts,
            last: None,
            random: SplitMix(seed),
        }
    }

    pub(super) fn next_step(&mut self, model: &Model) -> Step {
        let step = loop {
            let drawn = match self.random.below(100) {
                0..30 => Some(self.claim()),
                30..41 if self.transacts => Some(self.transact()),
                41..50 => self.complete(model),
                50..66 => self.settle(model),
                66..74 => Some(self.resolve(model)),
                74..80 => Some(self.revoke(model)),
                80..86 => Some(self.reopen(model)),
                86..90 => self.last.clone(),
                90..98 if self.jumps => Some(self.jump()),
                98..100 if self.jumps => Some(Step::Purge),
                _ => None,
            };
            if let Some(step) = drawn {
                break step;
            }
        };
        // Sent again it would go on from where it is.
        self.last = Some(step.clone()).filter(|step| !matches!(step, Step::Jump(_)));
        step
    }

    pub(super) fn some_age(&mut self) -> Duration {
        [Duration::ZERO, HOUR / 2][self.random.below(2)]
    }

    fn claim(&mut self) -> Step {
        let Parts { mut claim, completion } = self.request();
        let with_ledger = self.has_ledger(&claim);
        claim.claim.lease = Some((self.length(), self.recovery()));
        claim.alias = self.alias(&claim);
        let intended = completion.entry.filter(|_| with_ledger).map(|entry| Entry {
            kind: EntryKind::Intended,
            outcome_digest: None,
            place: claim.place,
            ..entry
        });
        Step::Claim { claim, intended }
    }

    fn transact(&mut self) -> Step {
        let Parts {
            mut claim,
            mut completion,
        } = self.request();
        claim.alias = self.alias(&claim);
        completion.owner = claim.claim.owner;
        completion.retention = claim.claim.kept();
        completion.entry = completion.entry.filter(|_| self.has_ledger(&claim));
        if let Some(entry) = &mut completion.entry {
            entry.place = claim.place;
        }
        let completion = match self.random.below(4) {
            0 => None,
            1 => Some(Completion {
                retention: claim.claim.retention,
                ..declined(completion)
            }),
            _ => Some(completion),
        };
        Step::Transact { claim, completion }
    }

    /// Some owner, of now or of before, comes with an outcome.
    fn complete(&mut self, model: &Model) -> Option<Step> {
        let (claim, generation, attempt) = self.owner(model)?;
        let mut completion = self.parts_of(&claim).completion;
        completion.owner = claim.claim.owner;
        completion.retention = self.length().max(claim.claim.kept());
        at(&mut completion, generation, attempt);
        let is_declined = self.random.below(4) == 0;
        if is_declined {
            completion = declined(completion);
        }
        completion.entry = completion.entry.filter(|_| self.has_ledger(&claim));
        if let Some(entry) = &mut completion.entry {
            entry.fingerprint = claim.claim.fingerprint.clone();
            entry.frees_place = is_declined;
        }
        Some(Step::Complete(completion))
    }

    /// Some owner fails, releases or renews.
    fn settle(&mut self, model: &Model) -> Option<Step> {
        let (claim, generation, attempt) = self.owner(model)?;
        let owner = claim.claim.owner;
        let entry = Entry {
            generation,
            attempt,
            outcome_digest: None,
            fingerprint: claim.claim.fingerprint.clone(),
            ..self.parts_of(&claim).entry()
        };
        let (event, entries) = match self.random.below(3) {
            0 => {
                let unknown = Entry {
                    kind: EntryKind::Unknown,
                    ..entry
                };
                (Settlement::Fail { owner }, vec![unknown])
            }
            1 => {
                let released = Entry {
                    kind: EntryKind::Resolved,
                    reason: Some(Reason::NothingHappened),
                    frees_place: true,
                    ..entry
                };
                let retention = self.length();
                (Settlement::Release { owner, retention }, vec![released])
            }
            _ => {
                let lease = self.length();
                (Settlement::Renew { owner, lease }, Vec::new())
            }
        };
        Some(Step::Settle {
            key: claim.key,
            event,
            entries,
        })
    }

    fn resolve(&mut self, model: &Model) -> Step {
        let (index, key) = self.key();
        let nobody = AttemptId {
            generation: 1,
            attempt: 1,
            since: Timestamp::from_millis(0),
        };
        let mut attempt = model.record(&key).map_or(nobody, |record| record.attempt_id());
        match self.random.below(8) {
            0 => attempt.attempt += 1,
            1 => attempt.generation += 1,
            2 => attempt.since = Timestamp::from_millis(attempt.since.as_millis() - 1),
            _ => {}
        }
        let mut entry = self.by_hand(index, model, EntryKind::Resolved);
        entry.generation = attempt.generation;
        entry.attempt = attempt.attempt;
        let happened = self.random.below(2) == 0;
        let outcome = happened.then(|| parts(&self.intents[index]).completion.outcome);
        let mut entries = vec![Entry {
            reason: Some(if happened {
                Reason::Happened
            } else {
                Reason::NothingHappened
            }),
            frees_place: !happened,
            ..entry.clone()
        }];
        if happened {
            entries.push(Entry {
                kind: EntryKind::Executed,
                ..entry
            });
        }
        let event = Settlement::Resolve {
            attempt,
            outcome,
            owner: token(),
            retention: self.length(),
        };
        Step::Settle { key, event, entries }
    }

    fn revoke(&mut self, model: &Model) -> Step {
        let (index, key) = self.key();
        let expected_generation = self.generation(model, &key);
        let revoked = Entry {
            generation: expected_generation,
            frees_place: true,
            ..self.by_hand(index, model, EntryKind::Revoked)
        };
        let event = Settlement::Revoke {
            expected_generation,
            owner: token(),
            retention: self.length(),
        };
        Step::Settle {
            key,
            event,
            entries: vec![revoked],
        }
    }

    fn reopen(&mut self, model: &Model) -> Step {
        let (index, key) = self.key();
        let expected_generation = self.generation(model, &key);
        let reopened = Entry {
            generation: expected_generation + 1,
            attempt: 0,
            ..self.by_hand(index, model, EntryKind::Reopened)
        };
        let event = Settlement::Reopen {
            expected_generation,
            place: model.place_of(&key),
            owner: token(),
            retention: self.length(),
        };
        Step::Settle {
            key,
            event,
            entries: vec![reopened],
        }
    }

    fn jump(&mut self) -> Step {
        let hour = crate::clock::millis(HOUR);
        // Lengths are whole hours, so the ends of leases and retentions are met to the millisecond, and missed by one.
        let by = [1, hour / 2, hour - 1, hour, 2 * hour, 5 * hour, -1, -hour];
        Step::Jump(by[self.random.below(by.len())])
    }

    /// A request of some intent, with one of two payloads and perhaps a place.
    fn request(&mut self) -> Parts {
        let amount = if self.random.below(6) == 0 { 2 } else { 1 };
        let index = self.random.below(self.intents.len());
        let intent = self.intents[index].amount(amount);
        let mut parts = parts(&intent);
        // Mostly the same place for the same intent; the first two contend for one.
        let own = [Some(PLACES[0]), Some(PLACES[0]), Some(PLACES[1])][index];
        parts.claim.place = match self.random.below(8) {
            0 => Some(PLACES[0]),
            1 => Some(PLACES[1]),
            2 | 3 => None,
            _ => own,
        };
        parts.claim.claim.retention = self.length();
        if self.random.below(3) == 0 {
            parts.claim.claim.tombstone = Some(Box::new(Tombstone {
                lasts: self.length(),
                key: parts.claim.key.clone(),
                action: "kit.act".to_owned(),
            }));
        }
        parts.claim.claim.step_id = Some(format!("step {}", self.random.below(3)));
        parts
    }

    /// Seldom, another key that shall stand for the one that is claimed.
    fn alias(&mut self, claim: &StoreClaim) -> Option<Box<Alias>> {
        let other = self.random.below(self.keys.len());
        if self.keys[other] == claim.key || self.random.below(4) > 0 {
            return None;
        }
        let Parts {
            claim: second,
            completion,
        } = parts(&self.intents[other]);
        let entry = Entry {
            kind: EntryKind::Aliased,
            references: alias_for(&claim.key),
            ..completion.entry?
        };
        let claim = Claim {
            retention: self.length(),
            ..second.claim
        };
        Some(Box::new(Alias {
            key: second.key,
            claim,
            entry,
        }))
    }

    /// Whether a step on a claim is one of a call with ledger. What has a place is.
    fn has_ledger(&mut self, claim: &StoreClaim) -> bool {
        claim.place.is_some() || self.random.below(4) > 0
    }

    fn owner(&mut self, model: &Model) -> Option<(StoreClaim, u32, u32)> {
        let claimed = &model.claimed;
        // The newest ones more often: those may own something.
        let back = [0, 0, 0, 1, 2, 3, 5, 8][self.random.below(8)];
        claimed.len().checked_sub(1 + back).map(|index| claimed[index].clone())
    }

    fn parts_of(&self, claim: &StoreClaim) -> Parts {
        let index = self.keys.iter().position(|key| *key == claim.key);
        parts(&self.intents[index.expect("claims have keys of the cast")])
    }

    fn key(&mut self) -> (usize, IdempotencyKey) {
        let index = self.random.below(self.keys.len());
        (index, self.keys[index].clone())
    }

    /// Mostly the generation that stands.
    fn generation(&mut self, model: &Model, key: &IdempotencyKey) -> u32 {
        let stands = model.generation(key);
        match self.random.below(6) {
            0 => stands + 1,
            1 => stands.saturating_sub(1),
            _ => stands,
        }
    }

    fn by_hand(&self, index: usize, model: &Model, kind: EntryKind) -> Entry {
        let entry = parts(&self.intents[index]).entry();
        let fingerprint = model.fingerprint(&self.keys[index]).unwrap_or(entry.fingerprint);
        Entry {
            kind,
            fingerprint,
            outcome_digest: None,
            actor: Some("ada".to_owned()),
            ..entry
        }
    }

    fn length(&mut self) -> Duration {
        HOUR * [1, 2, 4][self.random.below(3)]
    }

    fn recovery(&mut self) -> Recovery {
        match self.random.below(5) {
            0 => Recovery::Hold,
            _ => Recovery::Rerun {
                remembered_for: self.length(),
            },
        }
    }
}

fn declined(mut completion: Completion) -> Completion {
    completion.outcome = Outcome::encode(OutcomeKind::Declined, &"no").expect("a text");
    if let Some(entry) = &mut completion.entry {
        entry.kind = EntryKind::Declined;
        entry.outcome_digest = completion.outcome.digest();
        entry.place = None;
    }
    completion
}

fn token() -> OwnerToken {
    OwnerToken::random().expect("the operating system gives random bytes")
}

impl Step {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Claim { claim, .. } if claim.alias.is_some() => "claim of two keys",
            Self::Claim { .. } => "claim",
            Self::Transact { claim, .. } if claim.alias.is_some() => "transaction on two keys",
            Self::Transact { .. } => "transaction",
            Self::Complete(_) => "completion",
            Self::Settle { event, .. } => match event {
                Settlement::Fail { .. } => "failure",
                Settlement::Release { .. } => "release",
                Settlement::Renew { .. } => "renewal",
                Settlement::Resolve { .. } => "verdict",
                Settlement::Revoke { .. } => "revocation",
                Settlement::Reopen { .. } => "reopening",
            },
            Self::Jump(_) => "jump",
            Self::Purge => "purge",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.name())?;
        match self {
            Self::Claim { claim, .. } | Self::Transact { claim, .. } => {
                let StoreClaim {
                    key,
                    claim,
                    place,
                    alias,
                } = claim;
                let place = place.map(|place| char::from(place[0]));
                let alias = alias.as_ref().map(|alias| alias.key.short());
                write!(
                    out,
                    " of {} for {:.4?} by {:02x}, lease {:?}, retention {:?}, tombstone {:?}, place {place:?}, alias {alias:?}",
                    key.short(),
                    claim.fingerprint,
                    claim.owner.as_bytes()[0],
                    claim.lease,
                    claim.retention,
                    claim.tombstone.as_ref().map(|tombstone| tombstone.lasts)
                )
            }
            Self::Complete(completion) => write!(
                out,
                " of {} by {:02x}, {:?}, entry {:?}, retention {:?}",
                completion.key.short(),
                completion.owner.as_bytes()[0],
                completion.outcome.kind(),
                completion.entry.as_ref().map(|entry| entry.kind),
                completion.retention
            ),
            Self::Settle { key, event, .. } => write!(out, " of {}, {event:?}", key.short()),
            Self::Jump(millis) => write!(out, " by {millis} ms"),
            Self::Purge => Ok(()),
        }
    }
}

/// A small generator whose histories can be played again from their seed.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap_or(0)
    }
}
