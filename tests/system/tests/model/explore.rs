//! Runs the model checker and says what it found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use crate::state::World;
use crate::world::{Protocol, Step};

/// What an exploration came across.
pub(crate) struct Found {
    setup: &'static str,
    pub(crate) states: usize,
    depth: usize,
    /// The properties that failed, each with the history that broke it and the world at its end.
    broken: BTreeMap<&'static str, (Vec<Step>, World)>,
    /// What was to be seen, and was.
    pub(crate) sights: BTreeSet<&'static str>,
}

impl Found {
    pub(crate) fn breaks(&self, property: &str) -> bool {
        self.broken.contains_key(property)
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }
}

/// Explores everything within the bounds, or until something fails; what fails is reduced to a shortest history.
pub(crate) fn explore(protocol: &Protocol) -> Found {
    let found = run(protocol, HasDiscoveries::AnyFailures, None);
    match found.broken.keys().next() {
        None => found,
        Some(property) => shortest(protocol, property, found),
    }
}

/// Explores until one property fails. A history ends where it breaks another one.
pub(crate) fn search(protocol: &Protocol, property: &'static str) -> Found {
    run(protocol, any_of(property), None)
}

/// The checker keeps the last history that it came across before it stopped, which need not be the shortest.
pub(crate) fn shortest(protocol: &Protocol, property: &'static str, mut found: Found) -> Found {
    while let Some((steps, _)) = found.broken.get(property) {
        let shorter = run(protocol, any_of(property), Some(steps.len()));
        if !shorter.breaks(property) {
            break;
        }
        found = shorter;
    }
    found.broken.retain(|broken, _| *broken == property);
    found
}

fn any_of(property: &'static str) -> HasDiscoveries {
    HasDiscoveries::AnyOf(BTreeSet::from([property]))
}

fn run(protocol: &Protocol, enough: HasDiscoveries, below: Option<usize>) -> Found {
    // One thread: every run visits the same worlds in the same order.
    let mut builder = protocol.clone().checker().threads(1).finish_when(enough);
    if let Some(depth) = below {
        builder = builder.target_max_depth(depth);
    }
    let checker = builder.spawn_bfs().join();
    let mut found = Found {
        setup: protocol.setup.name,
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        broken: BTreeMap::new(),
        sights: BTreeSet::new(),
    };
    for (property, path) in checker.discoveries() {
        match checker.model().property(property).expectation {
            Expectation::Sometimes => {
                found.sights.insert(property);
            }
            Expectation::Always | Expectation::Eventually => {
                let last = path.last_state().clone();
                found.broken.insert(property, (path.into_actions(), last));
            }
        }
    }
    found
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            setup, states, depth, ..
        } = self;
        write!(f, "{setup}: {states} states, {depth} steps deep")?;
        for (property, (steps, last)) in &self.broken {
            write!(f, "\n  \"{property}\" fails:")?;
            for step in steps {
                write!(f, "\n    {step:?}")?;
            }
            write!(f, "\n    {last:?}")?;
        }
        Ok(())
    }
}
