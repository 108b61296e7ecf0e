//! The HTTP layer over real sockets, on real stores.

mod client;
mod concurrency;
mod faults;
mod outcomes;
mod sameness;
mod security;
mod stage;
mod syntax;
