use std::collections::HashMap;
use std::time::Duration;

use super::connection::Change;
use super::journal::{Journal, Made, Place};
use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::Entry;
use crate::record::{Mode, Record};
use crate::state::Status;
use crate::store::{OpenClaim, StoreClaim};

/// Identifies the connection that holds a claim which is not committed yet.
pub(super) type ConnectionId = u64;

/// No connection.
const NOBODY: ConnectionId = 0;

/// What is committed, and which claims are on their way.
#[derive(Default)]
pub(super) struct State {
    records: HashMap<IdempotencyKey, Record>,
    ledger: Journal,
    claims: HashMap<IdempotencyKey, Reserved>,
    places: HashMap<Place, (IdempotencyKey, ConnectionId)>,
    connections: ConnectionId,
    #[cfg(any(test, feature = "testing"))]
    clock: crate::testing::Clock,
}

/// A claim that is not committed yet, and the places that go with it.
struct Reserved {
    connection: ConnectionId,
    places: Vec<Place>,
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

    pub(super) fn record(&self, key: &IdempotencyKey) -> Option<&Record> {
        self.records.get(key)
    }

    pub(super) fn ledger(&self) -> &Journal {
        &self.ledger
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

    /// Whether no other connection is about to commit this key or this place.
    pub(super) fn may_claim(&self, claim: &StoreClaim, connection: ConnectionId) -> bool {
        let claimed = self.claims.get(&claim.key);
        let key_is_free = claimed.is_none_or(|reserved| reserved.connection == connection);
        let place = place_of(claim).and_then(|place| self.places.get(&place));
        key_is_free && place.is_none_or(|(key, holder)| *holder == connection || *key == claim.key)
    }

    /// Whether no transaction is about to commit this key or this place.
    pub(super) fn is_free(&self, claim: &StoreClaim) -> bool {
        self.may_claim(claim, NOBODY)
    }

    pub(super) fn put(&mut self, key: IdempotencyKey, record: Record) {
        self.records.insert(key, record);
    }

    pub(super) fn append(&mut self, entry: Entry, at: Timestamp) {
        let entry = self.ledger.settled(entry);
        self.ledger.append(entry, at);
    }

    pub(super) fn reserve(&mut self, claim: &StoreClaim, connection: ConnectionId) {
        let reserved = self.claims.entry(claim.key.clone()).or_insert_with(|| Reserved {
            connection,
            places: Vec::new(),
        });
        if let Some(place) = place_of(claim) {
            reserved.places.push(place.clone());
            self.places.insert(place, (claim.key.clone(), connection));
        }
    }

    /// Forgets the claim that `connection` has reserved on `key`, if it has.
    pub(super) fn free(&mut self, key: &IdempotencyKey, connection: ConnectionId) {
        if self
            .claims
            .get(key)
            .is_none_or(|reserved| reserved.connection != connection)
        {
            return;
        }
        for place in self.claims.remove(key).into_iter().flat_map(|reserved| reserved.places) {
            // Another key of the same connection may have reserved it since.
            if self.places.get(&place).is_some_and(|(holder, _)| holder == key) {
                self.places.remove(&place);
            }
        }
    }

    /// Commits what `connection` has staged, and forgets what it had reserved.
    pub(super) fn commit(&mut self, records: Vec<Change>, entries: Vec<Made>, connection: ConnectionId) {
        for Change { key, record, .. } in records {
            self.free(&key, connection);
            self.records.insert(key, record);
        }
        for (entry, at) in entries {
            self.ledger.append(entry, at);
        }
    }
}

fn place_of(claim: &StoreClaim) -> Option<Place> {
    Some((claim.key.tenant().clone(), claim.place?))
}
