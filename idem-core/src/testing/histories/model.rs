//! What the transition function and a plain reading of the ledger say.

use std::collections::HashMap;
use std::time::Duration;

use super::steps::Step;
use super::{Answer, Transacted};
use crate::clock::Timestamp;
use crate::key::{Fingerprint, IdempotencyKey};
use crate::ledger::{Entry, EntryKind, LedgerRef, LedgerView, Standing, alias_of};
use crate::record::{Mode, Outcome, Record};
use crate::state::{Event, Reply, Settlement, Status, transition};
use crate::store::{Completed, Completion, OpenClaim, PlaceDigest, StoreClaim, View};

pub(super) struct Model {
    pub(super) now: Timestamp,
    /// Whether the store's clock stands still, so that every moment is known.
    exact: bool,
    pub(super) records: HashMap<IdempotencyKey, Record>,
    entries: Vec<(Entry, Timestamp)>,
    /// Every leased claim that was ever won, with its generation and attempt.
    pub(super) claimed: Vec<(StoreClaim, u32, u32)>,
}

impl Model {
    pub(super) fn new(now: Timestamp, exact: bool) -> Self {
        Self {
            now,
            exact,
            records: HashMap::new(),
            entries: Vec::new(),
            claimed: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, step: &Step) -> Answer {
        match step {
            Step::Claim { claim, intended } => Answer::Reply(self.claim(claim, intended.as_ref())),
            Step::Transact { claim, completion } => Answer::Transacted(self.transact(claim, completion.as_ref())),
            Step::Complete(completion) => Answer::Completed(self.complete(completion)),
            Step::Settle { key, event, entries } => Answer::Reply(self.settle(key, event, entries)),
            Step::Jump(millis) => {
                self.now = Timestamp::from_millis(self.now.as_millis() + millis);
                Answer::Nothing
            }
            Step::Purge => {
                let now = self.now;
                self.records.retain(|_, record| !record.is_expired(now));
                Answer::Nothing
            }
        }
    }

    fn claim(&mut self, claim: &StoreClaim, intended: Option<&Entry>) -> Reply {
        let (record, reply) = self.decide(&claim.key, claim.place.as_ref(), Event::Claim(claim.claim.clone()));
        let (generation, attempt, kind) = match reply {
            Reply::Claimed {
                generation, attempt, ..
            } => (generation, attempt, EntryKind::Intended),
            Reply::OutcomeUnknown { generation, attempt } => (generation, attempt, EntryKind::Unknown),
            reply => return reply,
        };
        let won = kind == EntryKind::Intended;
        if won && !self.claim_alias(claim) {
            return Reply::Aliased(claim.alias.as_ref().expect("it was refused").key.clone());
        }
        self.put(&claim.key, record);
        if let Some(intended) = intended {
            self.append(Entry {
                generation,
                attempt,
                kind,
                place: claim.place.filter(|_| won),
                ..intended.clone()
            });
        }
        if won {
            self.claimed.push((claim.clone(), generation, attempt));
        }
        reply
    }

    fn transact(&mut self, claim: &StoreClaim, completion: Option<&Completion>) -> Transacted {
        let (record, reply) = self.decide(&claim.key, claim.place.as_ref(), Event::Claim(claim.claim.clone()));
        let Reply::Claimed {
            generation, attempt, ..
        } = reply
        else {
            return Transacted { reply, completed: None };
        };
        let before = (self.records.clone(), self.entries.clone());
        if !self.claim_alias(claim) {
            let reply = Reply::Aliased(claim.alias.as_ref().expect("it was refused").key.clone());
            return Transacted { reply, completed: None };
        }
        let Some(completion) = completion else {
            (self.records, self.entries) = before;
            return Transacted { reply, completed: None };
        };
        self.put(&claim.key, record);
        let completion = super::completion_in(completion, generation, attempt);
        let completed = self.complete(&completion);
        assert_eq!(completed, Completed::Done, "a place was free for the claim");
        Transacted {
            reply,
            completed: Some(completed),
        }
    }

    /// Whether the alias of a claim that was won is one now.
    fn claim_alias(&mut self, claim: &StoreClaim) -> bool {
        let Some(alias) = &claim.alias else {
            return true;
        };
        let (record, reply) = self.decide(&alias.key, None, Event::Claim(alias.claim.clone()));
        match reply {
            Reply::Aliased(key) => key == claim.key,
            Reply::Claimed {
                generation, attempt, ..
            } => {
                let complete = Event::Complete {
                    owner: alias.claim.owner,
                    outcome: Outcome::alias(&claim.key),
                    retention: alias.claim.kept(),
                };
                let (record, _) =
                    transition(record, &LedgerView::default(), complete, self.now).expect("it was claimed");
                self.put(&alias.key, record);
                self.append(Entry {
                    generation,
                    attempt,
                    ..alias.entry.clone()
                });
                true
            }
            _ => false,
        }
    }

    fn complete(&mut self, completion: &Completion) -> Completed {
        let key = &completion.key;
        let before = self.records.get(key).map(|record| record.status);
        let event = Event::Complete {
            owner: completion.owner,
            outcome: completion.outcome.clone(),
            retention: completion.retention,
        };
        let (record, reply) = self.decide(key, None, event);
        if reply != Reply::Done {
            return Completed::Stale;
        }
        self.put(key, record);
        if let Some(entry) = &completion.entry
            && before != Some(Status::Completed)
        {
            self.append(entry.clone());
        }
        Completed::Done
    }

    fn settle(&mut self, key: &IdempotencyKey, event: &Settlement, entries: &[Entry]) -> Reply {
        let (record, reply) = self.decide(key, event.place(), Event::Settle(event.clone()));
        for entry in entries {
            match reply {
                Reply::OutcomeUnknown { generation, attempt } => self.append(Entry {
                    generation,
                    attempt,
                    ..entry.clone()
                }),
                Reply::Done if !matches!(event, Settlement::Fail { .. }) => self.append(entry.clone()),
                _ => {}
            }
        }
        if matches!(reply, Reply::Done | Reply::OutcomeUnknown { .. }) {
            self.put(key, record);
        }
        reply
    }

    fn decide(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>, event: Event) -> (Option<Record>, Reply) {
        let ledger = self.ledger(key, place);
        let record = self.records.get(key).cloned();
        transition(record, &ledger, event, self.now).expect("the model stores what the function says")
    }

    fn put(&mut self, key: &IdempotencyKey, record: Option<Record>) {
        self.records
            .insert(key.clone(), record.expect("an event that takes effect leaves a record"));
    }

    /// Appends an entry as it is kept: one that frees names the place that its key holds, and a key takes
    /// one place at a time.
    fn append(&mut self, mut entry: Entry) {
        let held = self.held_by(&entry.key);
        if entry.frees_place {
            entry.place = held;
            entry.frees_place = held.is_some();
        } else if held.is_some() {
            entry.place = None;
        }
        let unique = |entry: &Entry| (entry.key.clone(), entry.generation, entry.kind, entry.slot());
        if self.entries.iter().all(|(other, _)| unique(other) != unique(&entry)) {
            self.entries.push((entry, self.now));
        }
    }

    /// Who holds a place: whoever took it last, unless it was freed since.
    fn holder(&self, place: &PlaceDigest) -> Option<&(Entry, Timestamp)> {
        let mut newest_first = self.entries.iter().rev();
        newest_first
            .find(|(entry, _)| entry.place.as_ref() == Some(place))
            .filter(|(entry, _)| !entry.frees_place)
    }

    fn other_holder(&self, key: &IdempotencyKey, place: &PlaceDigest) -> Option<LedgerRef> {
        let (holder, at) = self.holder(place).filter(|(entry, _)| entry.key != *key)?;
        Some(reference(holder, *at))
    }

    fn held_by(&self, key: &IdempotencyKey) -> Option<PlaceDigest> {
        let taken = self.entries.iter().rev().filter(|(entry, _)| entry.key == *key);
        taken
            .filter_map(|(entry, _)| entry.place)
            .find(|place| self.holder(place).is_some_and(|(holder, _)| holder.key == *key))
    }

    fn ledger(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>) -> LedgerView {
        let own = self
            .entries
            .iter()
            .filter(|(entry, _)| entry.key == *key && entry.kind.stands());
        let own = own
            .max_by_key(|(entry, _)| entry.generation)
            .map(|(entry, at)| Standing {
                kind: entry.kind,
                fingerprint: entry.fingerprint.clone(),
                entry: reference(entry, *at),
                alias: entry.references.as_deref().and_then(alias_of),
            });
        LedgerView {
            own,
            place: place.and_then(|place| self.other_holder(key, place)),
        }
    }

    /// Compares, and takes over the moments where the clock of the store goes on.
    pub(super) fn compare_view(&mut self, key: &IdempotencyKey, place: Option<&PlaceDigest>, found: View) {
        let expected = self.records.get(key);
        assert_eq!(
            found.record.as_ref().map(|record| self.essence(record)),
            expected.map(|record| self.essence(record)),
            "the record of {}; left: the store; right: the transition function",
            key.as_str()
        );
        let ledger = self.ledger(key, place);
        assert_eq!(
            self.ledger_essence(&found.ledger),
            self.ledger_essence(&ledger),
            "what the ledger says of {}; left: the store; right: its entries",
            key.as_str()
        );
        if self.exact {
            assert_eq!(found.now, self.now, "the clock of the store stands still");
        } else {
            self.now = found.now;
            if let Some(record) = found.record {
                self.records.insert(key.clone(), record);
            }
        }
    }

    pub(super) fn compare_origin(&self, key: &IdempotencyKey, found: Option<Entry>) {
        let attempts = [EntryKind::Intended, EntryKind::Executed, EntryKind::Declined];
        let made = |entry: &&Entry| entry.key == *key && attempts.contains(&entry.kind);
        let newest_first = || self.entries.iter().rev().map(|(entry, _)| entry).filter(made);
        let place = newest_first().find_map(|entry| entry.place);
        let essence = |entry: &Entry, place| {
            let Entry {
                generation,
                attempt,
                kind,
                action,
                fingerprint,
                step_id,
                run_id,
                payload_digest,
                ..
            } = entry;
            let detail = (
                entry.detail.subject().map(str::to_owned),
                entry.detail.preimage().to_owned(),
            );
            format!(
                "{generation} {attempt} {kind:?} {action} {fingerprint:?} {step_id:?} {run_id:?} {payload_digest:?} {detail:?} {place:?}"
            )
        };
        assert_eq!(
            found.as_ref().map(|entry| essence(entry, entry.place)),
            newest_first().next().map(|entry| essence(entry, place)),
            "the origin of {}; left: the store; right: its entries",
            key.as_str()
        );
    }

    pub(super) fn compare_open(&self, older_than: Duration, found: &[OpenClaim]) {
        let open = |record: &&Record| {
            record.mode == Mode::Leased
                && matches!(record.status, Status::InFlight | Status::Unknown)
                && record.created_at.after(older_than) <= self.now
        };
        let mut expected: Vec<_> = self.records.iter().filter(|(_, record)| open(record)).collect();
        expected.sort_by_key(|(key, record)| (record.created_at, key.as_str().to_owned()));
        let mut found: Vec<_> = found.iter().map(|claim| (&claim.key, &claim.record)).collect();
        let is_sorted = found.is_sorted_by_key(|(_, record)| record.created_at);
        assert!(is_sorted, "the longest open come first");
        found.sort_by_key(|(key, record)| (record.created_at, key.as_str().to_owned()));
        let tell = |open: &[(&IdempotencyKey, &Record)]| -> Vec<_> {
            open.iter()
                .map(|(key, record)| (key.as_str().to_owned(), self.essence(record)))
                .collect()
        };
        assert_eq!(
            tell(&found),
            tell(&expected),
            "what is open; left: the store; right: the records"
        );
    }

    /// An answer without what is not known where the clock of the store goes on.
    pub(super) fn blur(&self, answer: Answer) -> Answer {
        if self.exact {
            return answer;
        }
        let blur = |reply| match reply {
            Reply::InFlight { .. } => Reply::InFlight { lease_left: None },
            Reply::AlreadyExecuted(entry) => Reply::AlreadyExecuted(timeless(entry)),
            Reply::PlaceTaken(entry) => Reply::PlaceTaken(timeless(entry)),
            reply => reply,
        };
        match answer {
            Answer::Reply(reply) => Answer::Reply(blur(reply)),
            Answer::Transacted(Transacted { reply, completed }) => Answer::Transacted(Transacted {
                reply: blur(reply),
                completed,
            }),
            answer => answer,
        }
    }

    /// All of a record that means something in its status.
    fn essence(&self, record: &Record) -> String {
        let Record {
            fingerprint,
            status,
            mode,
            recovery,
            owner,
            lease_until,
            attempt,
            generation,
            step_id,
            run_id,
            outcome,
            created_at,
            completed_at,
            expires_at,
        } = record;
        let owner = owner.as_bytes();
        let expires_at = expires_at.filter(|_| !matches!(status, Status::InFlight | Status::Unknown));
        let moments = if self.exact {
            format!("{created_at:?} {completed_at:?} {lease_until:?} {expires_at:?}")
        } else {
            format!(
                "{} {} {}",
                completed_at.is_some(),
                lease_until.is_some(),
                expires_at.is_some()
            )
        };
        format!(
            "{status:?} {mode:?} {recovery:?} generation {generation} attempt {attempt} {owner:02x?} {fingerprint:?} \
             {step_id:?} {run_id:?} {outcome:?} {moments}"
        )
    }

    fn ledger_essence(&self, ledger: &LedgerView) -> String {
        let tell = |entry: &LedgerRef| {
            if self.exact {
                entry.clone()
            } else {
                timeless(entry.clone())
            }
        };
        let own = ledger.own.as_ref();
        let own = own.map(|own| (own.kind, own.fingerprint.clone(), tell(&own.entry), own.alias.clone()));
        format!("own {own:?}, place {:?}", ledger.place.as_ref().map(tell))
    }

    /// What the record of a key says, for steps that refer to it.
    pub(super) fn record(&self, key: &IdempotencyKey) -> Option<&Record> {
        self.records.get(key)
    }

    /// The generation that record or ledger say to stand.
    pub(super) fn generation(&self, key: &IdempotencyKey) -> u32 {
        let own = self.ledger(key, None).own.map(|own| own.entry.generation);
        self.record(key).map(|record| record.generation).max(own).unwrap_or(1)
    }

    pub(super) fn fingerprint(&self, key: &IdempotencyKey) -> Option<Fingerprint> {
        let own = || self.ledger(key, None).own.map(|own| own.fingerprint);
        self.record(key).map(|record| record.fingerprint.clone()).or_else(own)
    }

    /// The place that a key last took.
    pub(super) fn place_of(&self, key: &IdempotencyKey) -> Option<PlaceDigest> {
        let own = self
            .entries
            .iter()
            .rev()
            .filter(|(entry, _)| entry.key == *key && !entry.frees_place);
        own.filter_map(|(entry, _)| entry.place).next()
    }
}

fn reference(entry: &Entry, recorded_at: Timestamp) -> LedgerRef {
    LedgerRef {
        key: entry.key.as_str().to_owned(),
        generation: entry.generation,
        action: entry.action.clone(),
        step_id: entry.step_id.clone(),
        run_id: entry.run_id.clone(),
        recorded_at,
    }
}

fn timeless(mut entry: LedgerRef) -> LedgerRef {
    entry.recorded_at = Timestamp::from_millis(0);
    entry
}
