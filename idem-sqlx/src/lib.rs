//! PostgreSQL and SQLite stores of idem, on sqlx 0.9.
//!
//! Applications reach them through `idem-rs` with the features `postgres` and `sqlite`. The
//! application chooses TLS and runtime features of sqlx itself.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod bind;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod error;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod names;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod rows;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "testing", any(feature = "postgres", feature = "sqlite")))]
mod test_clock;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod transaction;

#[cfg(feature = "postgres")]
pub use postgres::{PgRoles, PgStore, PgTransaction};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteStore, SqliteTransaction};
