//! The rule by which records change: one pure, total function.
//!
//! [`transition`] takes what is stored, what happened and the time, and says what is stored next
//! and what the caller is told. Stores translate it into statements whose condition repeats the
//! whole rule; they do not decide.

mod by_hand;
mod event;
mod reply;
mod status;
mod transition;

#[cfg(test)]
mod tests;

pub use event::{AttemptId, Claim, Event, Settlement, Tombstone};
pub use reply::{Illegal, Reply};
pub use status::Status;
pub use transition::transition;
