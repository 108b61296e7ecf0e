//! How outcomes are kept: whole or as a digest, as they are or through a codec.

mod context;
mod error;
mod keeper;
#[cfg(feature = "encryption")]
mod key_ring;
mod outcome_codec;

#[cfg(test)]
mod tests;

pub use context::CodecContext;
pub use error::CodecError;
pub(crate) use keeper::{Keeper, Kept};
#[cfg(feature = "encryption")]
pub use key_ring::KeyRing;
pub(crate) use outcome_codec::Identity;
pub use outcome_codec::{Encoded, OutcomeCodec};

/// How much of an outcome is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retain {
    /// The outcome, so that repeats get it.
    #[default]
    Body,
    /// A digest of it in the ledger. The effect stands and is never run again; its first caller gets the
    /// result, repeats are told that it was not kept
    /// ([`ResultUnavailable`](crate::ErrorKind::ResultUnavailable)).
    DigestOnly,
}
