//! Effects on real databases: what every store must do, and what happens when processes are killed, answers are lost and
//! callers misuse the helper.

mod cancel;
mod cancelled_join;
mod cases;
mod chaos;
mod codec;
mod commit;
mod conformance;
mod cost;
mod crash;
mod engine;
mod grants;
mod isolation;
mod kill_after_commit;
mod lost_answer;
mod misuse;
mod pgbouncer;
mod race;
mod rls;
mod schema;
mod schemas;
mod send;
mod sequential;
mod stage;
mod support;
mod upgrade;
