//! A wire between a test and PostgreSQL: a proxy that counts round trips, records statements, and holds or cuts the
//! connection at a chosen place.
//!
//! A round trip is what the client waits for: a simple `Query`, or the messages up to a `Sync`. Start-up and `Terminate` do
//! not count. sqlx prepares a statement in a round trip of its own when a connection first sees it, so warm a connection up
//! before its trips are counted, and use a pool that does not test its connections (`Postgres::pool` is one).
//!
//! ```no_run
//! # async fn example() {
//! use idem_system_tests::{postgres, wire::At};
//!
//! let database = postgres();
//! let wire = database.wire();
//! let pool = wire.pool(1).await;
//! wire.cut(At::after("COMMIT")); // PostgreSQL commits, its answer is lost
//! # }
//! ```

mod fault;
mod link;
mod message;
mod proxy;
mod request;
mod stream;

pub use fault::At;
pub use proxy::Proxy;
pub use request::RoundTrip;

#[cfg(test)]
mod tests;
