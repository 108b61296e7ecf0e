#![cfg_attr(all(feature = "macros", feature = "sqlite", feature = "axum"), doc = include_str!("../README.md"))]
#![cfg_attr(
    not(all(feature = "macros", feature = "sqlite", feature = "axum")),
    doc = "Exactly-once effects for Rust services and agent tools; the features `sqlite` and `axum` show the whole of it."
)]

// Expansions name `::idem`, also inside this crate's own documentation tests.
extern crate self as idem;

pub use idem_core::*;

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/attribute.md")]
pub use idem_macros::idempotent;

#[cfg(feature = "macros")]
pub use idem_macros::KeyField;

#[cfg(feature = "postgres")]
pub use idem_sqlx::{PgRoles, PgStore, PgTransaction};
#[cfg(feature = "sqlite")]
pub use idem_sqlx::{SqliteStore, SqliteTransaction};

#[cfg(feature = "tower")]
#[doc(inline)]
pub use idem_tower as tower;

/// Longer texts.
pub mod _documentation {
    #[cfg(feature = "macros")]
    #[doc = include_str!("../docs/keys.md")]
    pub mod keys {}

    #[doc = include_str!("../docs/ledger.md")]
    pub mod ledger {}

    #[cfg(all(feature = "macros", feature = "sqlite"))]
    #[doc = include_str!("../docs/by-hand.md")]
    pub mod by_hand {}

    #[cfg(all(feature = "macros", feature = "sqlite", feature = "axum"))]
    #[doc = include_str!("../docs/http.md")]
    pub mod http {}

    #[doc = include_str!("../docs/operations.md")]
    pub mod operations {}

    #[doc = include_str!("../docs/guarantees.md")]
    pub mod guarantees {}
}

/// What generated code names. It is not public: anything here may change in any release.
#[doc(hidden)]
pub mod __private {
    pub use idem_core::__private::*;
    #[cfg(feature = "macros")]
    pub use idem_macros::__IdempotentFields;
}
