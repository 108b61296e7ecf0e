//! Exactly-once effects for Rust services and agent tools.

extern crate self as idem;

pub use idem_core::*;

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/attribute.md")]
pub use idem_macros::idempotent;

#[cfg(feature = "macros")]
pub use idem_macros::KeyField;

/// What generated code names. It is not public: anything here may change in any release.
#[doc(hidden)]
pub mod __private {
    pub use idem_core::private::*;
    #[cfg(feature = "macros")]
    pub use idem_macros::__IdempotentFields;
}
