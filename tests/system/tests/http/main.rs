//! The HTTP layer over real sockets, on real stores.

mod client;
mod concurrency;
mod derived;
mod faults;
mod grpc;
mod hostile;
mod openapi;
mod outcomes;
mod processes;
mod sameness;
mod security;
mod stack;
mod stage;
mod syntax;

#[test]
fn child_process_entry() {
    idem_system_tests::process::host(&[(processes::ROLE, processes::play)]);
}
