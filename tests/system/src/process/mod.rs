//! Child processes that play a role, say what they do, and can be killed.
//!
//! A child is the test binary itself, started again for its test `child_process_entry` with the role in `IDEM_CHILD_ROLE`.
//! Each test binary that starts children has a `#[test]` of this name, at its root or in as many of its modules as it likes;
//! without the variable it returns at once. A child ends when its parent does.
//!
//! ```
//! use idem_system_tests::process;
//!
//! // with #[test]
//! fn child_process_entry() {
//!     process::host(&[("claims and stops", claim_and_stop)]);
//! }
//!
//! fn claim_and_stop() {
//!     let url = process::argument("DATABASE"); // what the parent gave with `.with("DATABASE", ..)`
//!     process::say(format!("claimed on {url}"));
//!     process::hear(); // waits for a line from the parent
//! }
//!
//! fn the_test() {
//!     let mut child = process::role("claims and stops").with("DATABASE", "sqlite://..").start();
//!     child.wait_for("claimed on sqlite://..");
//!     assert!(child.kill().was_killed());
//! }
//!
//! child_process_entry();
//! ```

mod child;
mod role;

pub use child::{Child, Ended, Role, role};
pub use role::{argument, block_on, hear, host, say};

const ROLE: &str = "IDEM_CHILD_ROLE";
const ARGUMENT: &str = "IDEM_CHILD_";
/// Marks the lines that are meant for the parent, among those of the test harness.
const MARK: &str = "@idem ";

#[cfg(test)]
mod tests;
