//! The HTTP layer over real sockets, on real stores.

mod client;
mod concurrency;
mod derived;
mod faults;
mod outcomes;
mod sameness;
mod security;
mod stack;
mod stage;
mod syntax;
