//! Effects on real databases: what every store must do, and what happens when processes are killed, answers are lost and
//! callers misuse the helper.

mod conformance;
mod support;
