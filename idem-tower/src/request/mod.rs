//! The request: read within a bound, told apart from others, and handed to the handler whole.

mod body;
mod excluded;
mod fingerprint;
mod multipart;
mod query;
mod read;

pub use body::RequestBody;
pub(crate) use excluded::Pointer;
pub(crate) use fingerprint::{Comparison, Seen, fingerprint, target};
pub(crate) use read::{Read, ReadError, read};
