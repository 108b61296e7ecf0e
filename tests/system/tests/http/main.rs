//! The HTTP layer over real sockets, on real stores.

mod client;
mod concurrency;
mod outcomes;
mod sameness;
mod stage;
mod syntax;
