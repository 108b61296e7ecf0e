//! Outside effects under a lease: what happens when the processes that have them are killed or stopped.

mod cases;
mod chaos;
mod crash;
mod downstream;
mod stage;
mod two_builds;
mod worker;
mod zombie;

#[test]
fn child_process_entry() {
    idem_system_tests::process::host(&[
        (downstream::ROLE, downstream::play),
        (worker::ROLE, worker::play),
        (two_builds::ROLE, two_builds::play),
        (worker::PAYS_AND_HANGS, worker::pay_and_hang),
    ]);
}
