//! Effects on real databases: what every store must do, and what happens when processes are killed, answers are lost and
//! callers misuse the helper.

mod cases;
mod cancel;
mod conformance;
mod crash;
mod isolation;
mod lost_answer;
mod race;
mod stage;
mod engine;
mod misuse;
mod rls;
mod send;
mod support;
