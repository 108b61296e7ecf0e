//! The heart of idem: keys, records, the transition function and the executor.
//!
//! Applications depend on `idem-rs`, which re-exports this crate; stores and adapters depend on this
//! crate. No HTTP and no SQL in here.

mod clock;
mod codec;
mod error;
mod execute;
mod key;
mod ledger;
mod observe;
mod record;
mod state;
mod store;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use clock::{Timestamp, millis};
#[cfg(feature = "encryption")]
pub use codec::KeyRing;
pub use codec::{CodecContext, CodecError, Encoded, OutcomeCodec, Retain};
pub use error::{Error, ErrorKind, Retry};
pub use execute::{
    Begun, ByHand, Call, Done, Effect, EffectError, Guard, Idem, Leased, LeasedGuard, ReadyCall, Reconciled, Renewal,
    Resolution, Settings, Stuck, StuckState,
};
pub use key::*;
pub use ledger::{Detail, Entry, EntryKind, LedgerRef, LedgerView, Reason, Standing, alias_of};
#[cfg(feature = "metrics")]
pub use observe::MetricsObserver;
pub use observe::{CallClaimed, CallConcluded, Conclusion, Observer};
pub use record::{Mode, Outcome, OutcomeKind, OwnerToken, Record, Recovery};
pub use state::{AttemptId, Claim, Event, Illegal, Reply, Settlement, Status, Tombstone, transition};
pub use store::atomic;
pub use store::{
    Alias, Capabilities, Completed, Completion, MemoryConnection, MemoryStore, MemoryTransaction, OpenClaim,
    PlaceDigest, Store, StoreClaim, TransactionalStore, View,
};
