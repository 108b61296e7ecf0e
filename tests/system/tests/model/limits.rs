//! What is promised under assumptions: each of them taken away gives a history that breaks a promise.

use crate::explore::{search, shortest};
use crate::setup::{Downstream, Setup};
use crate::world::Protocol;

#[track_caller]
fn assert_needed(setup: Setup, property: &'static str) {
    let protocol = Protocol::of(setup);
    let found = search(&protocol, property);
    assert!(found.breaks(property), "it holds all the same: {found}");
    println!("{}", shortest(&protocol, property, found));
}

#[test]
fn limit_a_call_that_arrives_long_after_its_claim_may_come_too_late_for_the_downstream_to_know_it() {
    let setup = Setup {
        downstream: Downstream::Remembers(Setup::REMEMBERED),
        jumps_back: 0,
        ..Setup::rerun()
    };
    assert_needed(setup, "the effect happens once in a generation");
}

#[test]
fn limit_a_clock_that_goes_back_moves_the_horizon() {
    let setup = Setup {
        downstream: Downstream::Remembers(Setup::REMEMBERED + 1),
        jumps_back: 1,
        ..Setup::rerun()
    };
    assert_needed(setup, "the effect happens once in a generation");
}

#[test]
fn limit_a_verdict_that_nothing_happened_is_wrong_while_a_call_is_on_its_way() {
    let setup = Setup {
        hasty_verdicts: true,
        ..Setup::hold()
    };
    assert_needed(setup, "the effect happens once in a generation");
}
