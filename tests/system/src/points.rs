//! Stopping a process at a named point of the protocol.
//!
//! idem emits trace events of target `idem::protocol` whose field `point` names where a call is: `begun`, `claimed`,
//! `effect_done`, `completed`, `committed`. They are emitted in the caller's task, so a subscriber that does not return stops
//! the process exactly there, to be killed.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::process;

/// Has this process say `at <point>` and stop for good when it reaches `point` for the `nth` time, counted from 1.
/// Meant for the roles of child processes: it is the subscriber of the whole process.
///
/// # Panics
///
/// When the process has a subscriber already.
pub fn stop_at(point: &str, nth: usize) {
    observe(point, nth, |point| {
        process::say(format!("at {point}"));
        loop {
            std::thread::park();
        }
    });
}

/// Calls `reached` when this process reaches `point` for the `nth` time, counted from 1, in the task that does.
///
/// # Panics
///
/// When the process has a subscriber already.
pub fn observe(point: &str, nth: usize, reached: impl Fn(&str) + Send + Sync + 'static) {
    let observer = Observer {
        point: point.to_owned(),
        nth,
        seen: AtomicUsize::new(0),
        reached,
    };
    tracing::subscriber::set_global_default(observer).expect("a process without a subscriber");
}

struct Observer<F> {
    point: String,
    nth: usize,
    seen: AtomicUsize,
    reached: F,
}

impl<F: Fn(&str) + Send + Sync + 'static> Subscriber for Observer<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == TARGET
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // Spans are not enabled; the trait wants an id all the same.
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut point = Point(None);
        event.record(&mut point);
        if point.0.as_deref() == Some(&self.point) && self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.nth {
            (self.reached)(&self.point);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Point(Option<String>);

impl Visit for Point {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "point" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "point" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

const TARGET: &str = "idem::protocol";
