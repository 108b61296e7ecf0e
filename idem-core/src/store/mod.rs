//! What a store does for the executor.

pub mod atomic;
mod capabilities;
mod claim;
mod memory;
mod traits;

pub use capabilities::Capabilities;
pub use claim::{Alias, Completed, Completion, OpenClaim, PlaceDigest, StoreClaim, View};
pub use memory::{MemoryConnection, MemoryStore, MemoryTransaction};
pub use traits::{Store, TransactionalStore};
