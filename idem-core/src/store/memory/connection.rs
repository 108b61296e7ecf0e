use super::MemoryStore;
use super::state::ConnectionId;
use crate::clock::Timestamp;
use crate::key::IdempotencyKey;
use crate::ledger::Entry;
use crate::record::Record;

/// What effects on a [`MemoryStore`] run on: it collects what happens when the transaction commits.
pub struct MemoryConnection {
    store: MemoryStore,
    id: ConnectionId,
    staged: Staged,
}

type Effect = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Staged {
    records: Vec<(IdempotencyKey, Record)>,
    entries: Vec<(Entry, Timestamp)>,
    effects: Vec<Effect>,
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
        self.staged
            .records
            .iter()
            .rev()
            .find(|(staged, _)| staged == key)
            .map(|(_, record)| record)
    }

    pub(super) fn staged_entries(&self) -> &[(Entry, Timestamp)] {
        &self.staged.entries
    }

    pub(super) fn stage(&mut self, key: IdempotencyKey, record: Record) {
        self.staged.records.push((key, record));
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
        let undone: Vec<_> = self.staged.records.drain(mark.records..).map(|(key, _)| key).collect();
        self.staged.entries.truncate(mark.entries);
        self.staged.effects.truncate(mark.effects);
        self.store.lock().free(&undone, self.id);
    }

    pub(super) fn commit(&mut self) {
        let Staged {
            records,
            entries,
            effects,
        } = std::mem::take(&mut self.staged);
        let keys: Vec<_> = records.iter().map(|(key, _)| key.clone()).collect();
        // Effects first: whoever sees the record must see the effect.
        for effect in effects {
            effect();
        }
        let mut state = self.store.lock();
        state.commit(records, entries);
        state.free(&keys, self.id);
    }
}
