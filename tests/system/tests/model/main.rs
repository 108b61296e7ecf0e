//! The protocol, explored exhaustively within bounds: the real transition function, and around it processes that die
//! anywhere, a storage that forgets what has expired, clocks that jump, a downstream, and people who clear up.
//!
//! # What is to hold
//!
//! An *attempt* is a claim that was granted. It is *open* until its effect is on record, or somebody who knows says that it
//! had none. A *generation* of a key is what lies between two reopenings.
//!
//! 1. A generation of a key is executed once, however many processes ask, die, come back or are told nothing.
//! 2. In a transaction, effect, record and ledger entry stand together or not at all. An effect that ends its transaction
//!    itself leaves an unknown outcome, never a second run.
//! 3. An outside effect happens once in a generation. While an attempt is open, another runs only if all of them allow it
//!    (`Rerun`), after the lease of the last one, and within the shortest declared memory of the downstream, counted from
//!    the first of them. Under `Hold`, and of a transaction, none does. So it is although the downstream tells repeats
//!    apart for only so long, or never.
//! 4. Nothing runs where an outcome stands: in the record while that is kept, in the ledger for ever.
//! 5. Nobody gets the outcome of a request with another fingerprint.
//! 6. An outcome that somebody was told stays as it is, until it expires or is undone.
//! 7. Who was fenced out by a takeover, a verdict or a reopening changes nothing, and is told so. Who was not can report an
//!    outcome as late as he likes, also where it counts as unknown by then.
//! 8. Whatever is sent again, because its answer was lost, changes nothing and gets the answer of the first time. A refusal
//!    changes nothing either.
//! 9. Of all keys that share a `once_per` place, one has its effect, and under a lease one is at it.
//! 10. Only an effect that happened is undone, once in a generation; only one that was undone is reopened, by somebody who has seen that
//!     generation; the new one is bound to the fingerprint of the old one.
//! 11. From everywhere there is a way out: when every process is dead and all time has passed, the next claim finds an
//!     outcome, or runs, or is told that the outcome is unknown; and then either verdict settles it.
//!
//! # What is assumed
//!
//! [`limits`] takes the first ones away and shows the histories that break a promise.
//!
//! - Under `Rerun`, the downstream remembers a key for longer than declared: by as much as a call may take from its claim to
//!   its arrival, and by as much as the storage's clock may go back.
//! - Who gives the verdict that nothing happened is right about the whole generation, and no call is on its way any more.
//! - An attempt that says that nothing happened is right about itself.
//! - A final error is kept for at least as long as the downstream remembers that it gave it.
//!
//! # How it is explored
//!
//! A step is atomic where the store's is: one statement or one transaction. Between any two steps any process may die, be
//! overtaken or wait for ever. A lost answer is a step that took effect and left its sender where he was. Time passes in
//! ticks. That another process is as good as this one, and another fingerprint as this one, is used to visit fewer worlds.
//! The bounds are in [`setup`]: how many claims are won, how many ticks pass, how many verdicts are given.

mod bridge;
mod explore;
mod limits;
mod mutants;
mod rules;
mod setup;
mod state;
mod world;

use explore::explore;
use setup::Setup;
use world::Protocol;

macro_rules! the_protocol_holds {
    ($($test:ident: $setup:ident;)*) => {
        $(#[test]
        fn $test() {
            let setup = Setup::$setup();
            let expected = setup.sights;
            let found = explore(&Protocol::of(setup));
            println!("{found}");
            assert!(found.is_clean(), "{found}");
            for sight in expected {
                assert!(found.sights.contains(sight), "it never came across {sight}: {found}");
            }
        })*
    };
}

the_protocol_holds! {
    the_protocol_holds_in_transactions: transactional;
    the_protocol_holds_where_effects_end_their_transactions: broken_transactions;
    the_protocol_holds_with_a_downstream_that_knows_no_keys: hold;
    the_protocol_holds_with_a_downstream_that_forgets: rerun;
    the_protocol_holds_where_callers_disagree: mixed;
    the_protocol_holds_where_verdicts_come_late: stale_verdicts;
    the_protocol_holds_where_effects_are_undone: reopened;
    the_protocol_holds_for_places: place;
}
