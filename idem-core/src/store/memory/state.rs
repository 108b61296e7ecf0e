use std::collections::HashMap;
use std::time::Duration;

use super::connection::Change;
use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::{Entry, EntryKind, LedgerRef, LedgerView, Standing, alias_of};
use crate::record::{Mode, Record};
use crate::state::Status;
use crate::store::{OpenClaim, PlaceDigest, StoreClaim};

/// Identifies the connection that holds a claim which is not committed yet.
pub(super) type ConnectionId = u64;

/// What is committed, and which claims are on their way.
#[derive(Default)]
pub(super) struct State {
    records: HashMap<IdempotencyKey, Record>,
    entries: Vec<(Entry, Timestamp)>,
    claims: HashMap<IdempotencyKey, ConnectionId>,
    places: HashMap<(String, PlaceDigest), (IdempotencyKey, ConnectionId)>,
    connections: ConnectionId,
    #[cfg(any(test, feature = "testing"))]
    clock: crate::testing::Clock,
}

impl State {
    pub(super) fn next_connection(&mut self) -> ConnectionId {
        self.connections += 1;
        self.connections
    }

    pub(super) fn now(&self) -> Timestamp {
        #[cfg(any(test, feature = "testing"))]
        let now = self.clock.now();
        #[cfg(not(any(test, feature = "testing")))]
        let now = Timestamp::of_this_host();
        now
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn set_clock(&mut self, clock: crate::testing::Clock) {
        self.clock = clock;
    }

    pub(super) fn record(&self, key: &IdempotencyKey) -> Option<Record> {
        self.records.get(key).cloned()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    pub(super) fn executed(&self) -> usize {
        self.entries().filter(|entry| entry.kind == EntryKind::Executed).count()
    }

    /// The newest entry that an attempt of the key made, with the place that the key last took.
    pub(super) fn origin(&self, key: &IdempotencyKey, staged: &[(Entry, Timestamp)]) -> Option<Entry> {
        let made = |entry: &&Entry| {
            let kinds = [EntryKind::Intended, EntryKind::Executed, EntryKind::Declined];
            entry.key == *key && kinds.contains(&entry.kind)
        };
        let newest_first = || {
            let all = staged.iter().rev().chain(self.entries.iter().rev());
            all.map(|(entry, _)| entry).filter(made)
        };
        let newest = newest_first().next()?.clone();
        let place = newest_first().find_map(|entry| entry.place);
        Some(Entry { place, ..newest })
    }

    pub(super) fn open_claims(&self, older_than: Duration, limit: u32) -> Vec<OpenClaim> {
        let now = self.now();
        let is_open = |record: &Record| {
            record.mode == Mode::Leased
                && matches!(record.status, Status::InFlight | Status::Unknown)
                && record.created_at.after(older_than) <= now
        };
        let mut open: Vec<_> = self
            .records
            .iter()
            .filter(|(_, record)| is_open(record))
            .map(|(key, record)| OpenClaim {
                key: key.clone(),
                record: record.clone(),
                now,
            })
            .collect();
        open.sort_by_key(|claim| claim.record.created_at);
        open.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        open
    }

    pub(super) fn purge(&mut self, batch: u32) -> u64 {
        let now = self.now();
        // A transaction that has claimed the key was decided on the sight of its record.
        let expired = self
            .records
            .iter()
            .filter(|(key, record)| record.is_expired(now) && !self.claims.contains_key(*key));
        let expired: Vec<_> = expired
            .map(|(key, _)| key.clone())
            .take(usize::try_from(batch).unwrap_or(usize::MAX))
            .collect();
        for key in &expired {
            self.records.remove(key);
        }
        u64::try_from(expired.len()).unwrap_or(u64::MAX)
    }

    /// What the ledger says, with the entries that the asking connection has staged.
    pub(super) fn ledger(
        &self,
        key: &IdempotencyKey,
        place: Option<&PlaceDigest>,
        staged: &[(Entry, Timestamp)],
    ) -> LedgerView {
        let all = || self.entries.iter().chain(staged);
        let own = all()
            .filter(|(entry, _)| entry.key == *key && entry.kind.stands())
            .max_by_key(|(entry, _)| entry.generation)
            .map(|(entry, at)| Standing {
                kind: entry.kind,
                fingerprint: entry.fingerprint.clone(),
                entry: reference(entry, *at),
                alias: entry.references.as_deref().and_then(alias_of),
            });
        // A place is held by the entry with as many predecessors as were freed.
        let place = place.and_then(|place| {
            let here = |entry: &&(Entry, Timestamp)| entry.0.key.tenant() == key.tenant();
            let freed = all()
                .filter(here)
                .filter(|(entry, _)| entry.frees_place && entry.place.as_ref() == Some(place))
                .count();
            let takes = |(entry, _): &&(Entry, Timestamp)| takes(entry, place);
            let (holder, at) = all().filter(here).filter(takes).nth(freed)?;
            (holder.key != *key).then(|| reference(holder, *at))
        });
        LedgerView { own, place }
    }

    /// Whether no other connection is about to commit this key or this place.
    pub(super) fn may_claim(&self, claim: &StoreClaim, connection: ConnectionId) -> bool {
        let key_is_free = self.claims.get(&claim.key).is_none_or(|holder| *holder == connection);
        let place = place_of(claim).and_then(|place| self.places.get(&place));
        key_is_free && place.is_none_or(|(key, holder)| *holder == connection || *key == claim.key)
    }

    pub(super) fn reserve(&mut self, claim: &StoreClaim, connection: ConnectionId) {
        self.claims.insert(claim.key.clone(), connection);
        if let Some(place) = place_of(claim) {
            self.places.insert(place, (claim.key.clone(), connection));
        }
    }

    /// Forgets the claims that `connection` has reserved on `keys`.
    pub(super) fn free(&mut self, keys: &[IdempotencyKey], connection: ConnectionId) {
        self.claims
            .retain(|key, holder| *holder != connection || !keys.contains(key));
        self.places
            .retain(|_, (key, holder)| *holder != connection || !keys.contains(key));
    }

    pub(super) fn commit(&mut self, records: Vec<Change>, entries: Vec<(Entry, Timestamp)>) {
        self.records
            .extend(records.into_iter().map(|change| (change.key, change.record)));
        for (entry, at) in entries {
            if !self.holds_like(&entry) {
                self.entries.push((entry, at));
            }
        }
    }

    /// The entry as it is kept: one that would take a place while its key holds one takes none, and one that frees
    /// names the place that its key holds.
    pub(super) fn settled(&self, mut entry: Entry) -> Entry {
        let held = self.place_of_key(&entry.key);
        if entry.frees_place {
            entry.place = held;
            entry.frees_place = held.is_some();
        } else if entry.kind != EntryKind::Refused && held.is_some() {
            entry.place = None;
        }
        entry
    }

    fn place_of_key(&self, key: &IdempotencyKey) -> Option<PlaceDigest> {
        let own = self.entries().filter(|entry| entry.key == *key);
        own.filter_map(|entry| entry.place)
            .find(|place| self.holder(key, place) == Some(key))
    }

    /// Who holds a place in the tenant of `key`.
    fn holder(&self, key: &IdempotencyKey, place: &PlaceDigest) -> Option<&IdempotencyKey> {
        let here = |entry: &&Entry| entry.key.tenant() == key.tenant();
        let freed = self
            .entries()
            .filter(here)
            .filter(|entry| entry.frees_place && entry.place == Some(*place));
        let freed = freed.count();
        self.entries()
            .filter(here)
            .filter(|entry| takes(entry, place))
            .nth(freed)
            .map(|entry| &entry.key)
    }

    /// Whether an entry with the same unique columns is there.
    pub(super) fn holds_like(&self, entry: &Entry) -> bool {
        let like = |other: &Entry| {
            (&other.key, other.generation, other.kind) == (&entry.key, entry.generation, entry.kind)
                && other.slot() == entry.slot()
        };
        self.entries().any(like)
    }
}

/// Whether an entry takes a place: a refusal names the place it asked for, and what frees one the place it frees.
fn takes(entry: &Entry, place: &PlaceDigest) -> bool {
    entry.place.as_ref() == Some(place) && entry.kind != EntryKind::Refused && !entry.frees_place
}

fn place_of(claim: &StoreClaim) -> Option<(String, PlaceDigest)> {
    Some((claim.key.tenant().as_str().to_owned(), claim.place?))
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
