//! What the tests of idem run on: fresh databases, a wire between a test and PostgreSQL that counts and cuts, and child
//! processes that can be killed.
//!
//! Making and dropping these things is not async, so that a test, a child process and a destructor do it alike, inside a
//! runtime or not. A missing server fails the test and says what to do; no test is skipped.

pub mod points;
pub mod process;
pub mod wire;

mod address;
mod pgbouncer;
mod postgres;
mod server;
mod sqlite;

pub use pgbouncer::{PgBouncer, pgbouncer};
pub use postgres::{Postgres, postgres};
pub use server::{PrivateServer, Restart, private_server};
pub use sqlite::{Sqlite, sqlite};
