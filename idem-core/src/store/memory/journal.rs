//! The committed entries of the ledger, and where to find them: what a call asks is found without a look at the entries of
//! other keys.

use std::collections::{HashMap, HashSet};

use crate::clock::Timestamp;
use crate::key::{IdempotencyKey, Tenant};
use crate::ledger::{Entry, EntryKind, LedgerRef, LedgerView, Standing, alias_of};
use crate::store::PlaceDigest;

/// An entry, and when it was made.
pub(super) type Made = (Entry, Timestamp);

/// A place is one in its tenant.
pub(super) type Place = (Tenant, PlaceDigest);

#[derive(Default)]
pub(super) struct Journal {
    /// In the order of their commits; what follows holds positions in it.
    #[expect(
        clippy::vec_box,
        reason = "a vector of entries would move them all, under the lock, when it grows"
    )]
    entries: Vec<Box<Made>>,
    keys: HashMap<IdempotencyKey, OfKey>,
    places: HashMap<Place, OfPlace>,
    executed: usize,
}

#[derive(Default)]
struct OfKey {
    entries: Vec<usize>,
    /// The newest fact about the key.
    standing: Option<usize>,
    /// The places that it took, the first one first.
    places: Vec<PlaceDigest>,
    /// What no other entry of the key may have.
    unique: HashSet<(u32, EntryKind, String)>,
}

#[derive(Default)]
struct OfPlace {
    taken: Vec<usize>,
    freed: usize,
}

impl Journal {
    /// Appends an entry, unless one with the same unique columns is there.
    pub(super) fn append(&mut self, entry: Entry, at: Timestamp) {
        let position = self.entries.len();
        if self.holds_like(&entry) {
            return;
        }
        let of_key = self.keys.entry(entry.key.clone()).or_default();
        if may_be_many(entry.kind) {
            of_key.unique.insert(unique(&entry));
        }
        of_key.entries.push(position);
        let newest = of_key.standing.map(|standing| self.entries[standing].0.generation);
        if entry.kind.stands() && newest.is_none_or(|newest| newest <= entry.generation) {
            of_key.standing = Some(position);
        }
        if let Some(place) = entry.place {
            if takes(&entry, &place) && !of_key.places.contains(&place) {
                of_key.places.push(place);
            }
            if takes(&entry, &place) || entry.frees_place {
                let of_place = self.places.entry((entry.key.tenant().clone(), place)).or_default();
                match entry.frees_place {
                    true => of_place.freed += 1,
                    false => of_place.taken.push(position),
                }
            }
        }
        self.executed += usize::from(entry.kind == EntryKind::Executed);
        self.entries.push(Box::new((entry, at)));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|made| &made.0)
    }

    pub(super) fn executed(&self) -> usize {
        self.executed
    }

    /// The newest entry that an attempt of the key made, with the place that the key last took.
    pub(super) fn origin(&self, key: &IdempotencyKey, staged: &[Made]) -> Option<Entry> {
        let made = |entry: &&Entry| {
            let kinds = [EntryKind::Intended, EntryKind::Executed, EntryKind::Declined];
            entry.key == *key && kinds.contains(&entry.kind)
        };
        let committed = self.keys.get(key).map_or(&[][..], |of_key| &of_key.entries);
        let newest_first = || {
            let committed = committed.iter().rev().map(|position| &*self.entries[*position]);
            let all = staged.iter().rev().chain(committed);
            all.map(|(entry, _)| entry).filter(made)
        };
        let newest = newest_first().next()?.clone();
        let place = newest_first().find_map(|entry| entry.place);
        Some(Entry { place, ..newest })
    }

    /// What the ledger says, with the entries that the asking connection has staged.
    pub(super) fn view(&self, key: &IdempotencyKey, place: Option<&PlaceDigest>, staged: &[Made]) -> LedgerView {
        let committed = self.keys.get(key).and_then(|of_key| of_key.standing);
        let committed = committed.map(|position| &*self.entries[position]);
        let staged_facts = staged
            .iter()
            .filter(|(entry, _)| entry.key == *key && entry.kind.stands());
        let own = committed
            .into_iter()
            .chain(staged_facts)
            .max_by_key(|(entry, _)| entry.generation)
            .map(|(entry, at)| Standing {
                kind: entry.kind,
                fingerprint: entry.fingerprint.clone(),
                entry: reference(entry, *at),
                alias: entry.references.as_deref().and_then(alias_of),
            });
        let place = place.and_then(|place| {
            let (holder, at) = self.holder(key.tenant(), place, staged)?;
            (holder.key != *key).then(|| reference(holder, *at))
        });
        LedgerView { own, place }
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
        let places = &self.keys.get(key)?.places;
        let is_held = |place: &&PlaceDigest| {
            let holder = self.holder(key.tenant(), place, &[]);
            holder.is_some_and(|(holder, _)| holder.key == *key)
        };
        places.iter().find(is_held).copied()
    }

    /// The entry that holds a place: the one with as many predecessors as were freed.
    fn holder<'a>(&'a self, tenant: &Tenant, place: &PlaceDigest, staged: &'a [Made]) -> Option<&'a Made> {
        let here = || staged.iter().filter(|(entry, _)| entry.key.tenant() == tenant);
        let frees = |(entry, _): &&Made| entry.frees_place && entry.place.as_ref() == Some(place);
        let of_place = self.places.get(&(tenant.clone(), *place));
        let taken = of_place.map_or(&[][..], |of_place| &of_place.taken);
        let freed = of_place.map_or(0, |of_place| of_place.freed) + here().filter(frees).count();
        match taken.get(freed) {
            Some(position) => self.entries.get(*position).map(|made| &**made),
            None => here().filter(|(entry, _)| takes(entry, place)).nth(freed - taken.len()),
        }
    }

    /// Whether an entry with the same unique columns is there.
    pub(super) fn holds_like(&self, entry: &Entry) -> bool {
        let Some(of_key) = self.keys.get(&entry.key) else {
            return false;
        };
        if may_be_many(entry.kind) {
            return of_key.unique.contains(&unique(entry));
        }
        let like = |other: &Entry| {
            (other.generation, other.kind) == (entry.generation, entry.kind) && other.slot() == entry.slot()
        };
        of_key.entries.iter().any(|position| like(&self.entries[*position].0))
    }
}

/// Whether there is one for each payload or decision, rather than for each attempt.
fn may_be_many(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Refused | EntryKind::Declined | EntryKind::Resolved)
}

fn unique(entry: &Entry) -> (u32, EntryKind, String) {
    (entry.generation, entry.kind, entry.slot())
}

/// Whether an entry takes a place: a refusal names the place it asked for, and what frees one the place it frees.
fn takes(entry: &Entry, place: &PlaceDigest) -> bool {
    entry.place.as_ref() == Some(place) && entry.kind != EntryKind::Refused && !entry.frees_place
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
