//! Named points of the protocol, at which a process can be made to stop.
//!
//! idem tells `tracing` where a call stands: `begun`, `claimed`, `effect_done`, `completed`, `committed`. The events are
//! emitted by the task that serves the call, and the program has one thread, so a subscriber that does not return holds the
//! process exactly there.

use std::fmt;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::child::Message;

/// The points of a transaction, in the order in which a call that has an effect comes past them.
pub const TRANSACTIONAL: &[&str] = &["begun", "claimed", "effect_done", "completed", "committed"];

/// Those of an outside effect under a lease. `sent` is this program's own: the request is on its way to the airline. At
/// `effect_done` the airline has acknowledged and idem does not know it yet.
pub const LEASED: &[&str] = &["claimed", "sent", "effect_done", "completed"];

/// Where to stop: the `hit`-th time that the process comes past `point`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub point: String,
    pub hit: u64,
}

impl Stop {
    pub fn parse(text: &str) -> Result<Self, String> {
        let stop = text.split_once(':').and_then(|(point, hit)| {
            let hit = hit.parse().ok()?;
            let known = TRANSACTIONAL.contains(&point) || LEASED.contains(&point);
            (known && hit > 0).then(|| Self {
                point: point.to_owned(),
                hit,
            })
        });
        stop.ok_or_else(|| {
            format!(
                "expected POINT:HIT with a point among {}; with --mode leased among {}",
                TRANSACTIONAL.join(", "),
                LEASED.join(", ")
            )
        })
    }

    /// Makes this process stop there.
    pub fn install(self) {
        let breakpoint = Breakpoint {
            hits_left: AtomicU64::new(self.hit),
            point: self.point,
        };
        // Fails only where a subscriber has been set before, and this program sets no other.
        tracing::subscriber::set_global_default(breakpoint).expect("no subscriber has been set");
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.point, self.hit)
    }
}

struct Breakpoint {
    point: String,
    hits_left: AtomicU64,
}

impl Subscriber for Breakpoint {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && ["idem::protocol", "agent_replay"].contains(&metadata.target())
    }

    fn event(&self, event: &Event<'_>) {
        let mut is_here = IsPoint {
            wanted: &self.point,
            found: false,
        };
        event.record(&mut is_here);
        if is_here.found && self.hits_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            Message::At(self.point.clone()).send();
            // The supervisor holds the other end and kills this process. Where the supervisor itself is gone, the end of
            // the input ends the wait, so that no transaction stays open for ever.
            let _ = std::io::stdin().read(&mut [0]);
            std::process::exit(1);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct IsPoint<'a> {
    wanted: &'a str,
    found: bool,
}

impl Visit for IsPoint<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.found |= field.name() == "point" && value == self.wanted;
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
