use super::MemoryStore;
use super::journal::Made;
use super::state::ConnectionId;
use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::Entry;
use crate::record::{OwnerToken, Record};
use crate::state::Status;

/// What effects on a [`MemoryStore`] run on: it collects what happens when the transaction commits.
pub struct MemoryConnection {
    store: MemoryStore,
    id: ConnectionId,
    staged: Staged,
}

type Effect = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Staged {
    records: Vec<Change>,
    entries: Vec<Made>,
    effects: Vec<Effect>,
}

/// A record as it was committed when it was read, and as it shall be.
pub(super) struct Change {
    pub(super) key: IdempotencyKey,
    pub(super) before: Option<Seen>,
    pub(super) record: Record,
}

/// What tells two states of a record apart.
pub(super) type Seen = (OwnerToken, Status, u32, Option<Timestamp>);

pub(super) fn seen(record: &Record) -> Seen {
    (record.owner, record.status, record.attempt, record.lease_until)
}

/// How much was staged at some moment, to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    records: usize,
    entries: usize,
    effects: usize,
}

impl MemoryConnection {
    pub(super) fn new(store: MemoryStore) -> Self {
        let id = store.lock().next_connection();
        Self {
            store,
            id,
            staged: Staged::default(),
        }
    }

    /// Runs `effect` when the transaction commits, and not at all when it is rolled back.
    pub fn on_commit(&mut self, effect: impl FnOnce() + Send + 'static) {
        self.staged.effects.push(Box::new(effect));
    }

    pub(super) fn id(&self) -> ConnectionId {
        self.id
    }

    pub(super) fn staged_record(&self, key: &IdempotencyKey) -> Option<&Record> {
        self.staged(key).map(|change| &change.record)
    }

    fn staged(&self, key: &IdempotencyKey) -> Option<&Change> {
        self.staged.records.iter().rev().find(|change| change.key == *key)
    }

    pub(super) fn staged_entries(&self) -> &[Made] {
        &self.staged.entries
    }

    /// Stages a record that was decided on the sight of `before`.
    pub(super) fn stage(&mut self, key: IdempotencyKey, before: Option<Seen>, record: Record) {
        // What counts is the committed record that the first change in this transaction was based on.
        let before = self.staged(&key).map_or(before, |first| first.before);
        self.staged.records.push(Change { key, before, record });
    }

    pub(super) fn append(&mut self, entry: Entry, at: Timestamp) {
        self.staged.entries.push((entry, at));
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            records: self.staged.records.len(),
            entries: self.staged.entries.len(),
            effects: self.staged.effects.len(),
        }
    }

    pub(super) fn roll_back_to(&mut self, mark: Mark) {
        let undone = self.staged.records.drain(mark.records..);
        self.staged.entries.truncate(mark.entries);
        self.staged.effects.truncate(mark.effects);
        let mut state = self.store.lock();
        for change in undone {
            state.free(&change.key, self.id);
        }
    }

    /// Commits, unless a record has changed since it was read.
    pub(super) fn commit(&mut self) -> bool {
        let Staged {
            records,
            entries,
            effects,
        } = std::mem::take(&mut self.staged);
        let mut state = self.store.lock();
        let current = records
            .iter()
            .all(|change| state.record(&change.key).map(seen) == change.before);
        if !current {
            for change in &records {
                state.free(&change.key, self.id);
            }
            return false;
        }
        if !effects.is_empty() {
            // Effects first: whoever sees the record must see the effect. Their keys are reserved.
            drop(state);
            for effect in effects {
                effect();
            }
            state = self.store.lock();
        }
        state.commit(records, entries, self.id);
        true
    }
}
