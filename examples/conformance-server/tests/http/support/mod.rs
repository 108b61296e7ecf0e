//! The program, what asks it, and the settings in which it is asked.

mod client;
mod database;
mod server;
mod setting;

pub use client::{Request, Response, get, post, request};
pub use database::Database;
pub use server::Server;
pub use setting::{
    IN_MEMORY, LEASED, LEASED_IN_FILES, Place, SHARED, TRANSACTIONAL, TRANSACTIONAL_IN_FILES, everywhere, in_settings,
};

use std::time::{Duration, Instant};

/// A key that no other request of the test run has.
pub fn new_key() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("8e03978e-40d5-43e8-bc93-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Waits until something holds that has to hold soon.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
