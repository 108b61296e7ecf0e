//! Random histories: a store and the [transition function](crate::state::transition) are led through the same events, and
//! compared after each.
//!
//! A history has a few keys that share places, in a tenant of its own. Its steps are claims in both modes, completions,
//! failures, releases and renewals by owners of now and of before, verdicts, revocations, reopenings, purges, what is sent
//! again, and, where the store's clock can be set, jumps of the clock in both directions.

mod model;
mod steps;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use model::Model;
use steps::{Cast, Step};

use super::{Clock, TestClock};
use crate::clock::{Timestamp, random_bytes};
use crate::store::{Completed, Completion, Store, StoreClaim, TransactionalStore, View};

/// What can be done with a store beside what [`Store`] says.
pub(super) struct Abilities<S> {
    /// Stops the clock at a moment.
    stop_clock: Option<StopClock<S>>,
    /// Claims in a transaction and ends it.
    transact: Option<Transact<S>>,
}

type StopClock<S> = for<'a> fn(&'a S, Clock) -> Boxed<'a, ()>;
type Transact<S> = for<'a> fn(&'a S, &'a StoreClaim, Option<&'a Completion>) -> Boxed<'a, Transacted>;
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What came of a claim in a transaction and, if it was won, of its completion.
#[derive(Debug, PartialEq)]
pub(super) struct Transacted {
    reply: crate::state::Reply,
    completed: Option<Completed>,
}

impl<S: Store> Abilities<S> {
    pub(super) const fn none() -> Self {
        Self {
            stop_clock: None,
            transact: None,
        }
    }
}

impl<S: TransactionalStore> Abilities<S> {
    pub(super) const fn transactional() -> Self {
        Self {
            stop_clock: None,
            transact: Some(|store, claim, completion| Box::pin(transact(store, claim, completion))),
        }
    }
}

impl<S: TestClock> Abilities<S> {
    fn with_clock(mut self) -> Self {
        self.stop_clock = Some(|store, clock| {
            Box::pin(async move { store.set_clock(clock).await.expect("the clock of the store can be set") })
        });
        self
    }
}

/// Compares a store with the transition function over random histories that include jumps of its clock, in both modes.
///
/// [`transactional_store`](super::transactional_store) does so without the jumps. A purge is one of the events, so the store has
/// to be one that nobody else uses. It sets the clock, and lets it go on at the end.
///
/// # Panics
///
/// At the first difference. The message has the history up to there and its seed; with the environment variable
/// `IDEM_TEST_SEED` that history is played again, alone.
///
/// # Cancel safety
///
/// Dropping the future leaves records and the clock as they are.
///
/// # Examples
///
/// ```
/// # async fn run() {
/// idem_core::testing::histories(idem_core::MemoryStore::new(), 20).await;
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run());
/// ```
pub async fn histories<S: TransactionalStore + TestClock>(store: S, number: usize) {
    play(&store, &Abilities::transactional().with_clock(), number).await;
}

/// As [`histories`], for a store without transactions.
///
/// # Panics
///
/// As there.
///
/// # Cancel safety
///
/// As there.
pub async fn leased_histories<S: Store + TestClock>(store: S, number: usize) {
    play(&store, &Abilities::none().with_clock(), number).await;
}

/// Plays so many histories, and returns what was seen: events with their answers.
pub(super) async fn play<S: Store>(store: &S, abilities: &Abilities<S>, number: usize) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    if !store.capabilities().ledger {
        return seen;
    }
    let told = std::env::var("IDEM_TEST_SEED").ok();
    let told = told.map(|seed| {
        seed.parse()
            .expect("`IDEM_TEST_SEED` is a number, as the message gave it")
    });
    for _ in 0..if told.is_some() { 1 } else { number } {
        let drawn = || u64::from_be_bytes(random_bytes().expect("the operating system gives random bytes"));
        History::new(store, abilities, told.unwrap_or_else(drawn))
            .await
            .play(&mut seen)
            .await;
    }
    if let Some(set_clock) = abilities.stop_clock {
        set_clock(store, Clock::default()).await;
    }
    seen
}

/// How many events a history has.
const STEPS: usize = 40;

struct History<'a, S> {
    store: &'a S,
    abilities: &'a Abilities<S>,
    cast: Cast,
    model: Model,
    told: Told,
}

/// What has happened so far; told if the history ends in a panic.
struct Told {
    seed: u64,
    steps: Vec<String>,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("a random history, IDEM_TEST_SEED={}", self.seed);
            for (number, step) in self.steps.iter().enumerate() {
                eprintln!("{number:3} {step}");
            }
        }
    }
}

impl<'a, S: Store> History<'a, S> {
    async fn new(store: &'a S, abilities: &'a Abilities<S>, seed: u64) -> Self {
        let cast = Cast::new(seed, abilities.stop_clock.is_some(), abilities.transact.is_some());
        let now = view(store, &cast.keys[0], None).await.now;
        let history = Self {
            store,
            abilities,
            cast,
            model: Model::new(now, abilities.stop_clock.is_some()),
            told: Told {
                seed,
                steps: Vec::new(),
            },
        };
        history.stop_clock(now).await;
        history
    }

    async fn stop_clock(&self, at: Timestamp) {
        if let Some(stop_clock) = self.abilities.stop_clock {
            stop_clock(self.store, Clock::Stopped(at)).await;
        }
    }

    async fn play(mut self, seen: &mut BTreeSet<String>) {
        for _ in 0..STEPS {
            let step = self.cast.next_step(&self.model);
            self.told.steps.push(step.to_string());
            if self.abilities.stop_clock.is_none() {
                self.model.now = view(self.store, &self.cast.keys[0], None).await.now;
            }
            let expected = self.model.take(&step);
            let found = self.take(&step).await;
            let (expected, found) = (self.model.blur(expected), self.model.blur(found));
            assert_eq!(found, expected, "left: the store; right: the transition function");
            let answer = found.name();
            self.told
                .steps
                .last_mut()
                .expect("pushed")
                .push_str(&format!(": {answer}"));
            seen.insert(format!("{}: {answer}", step.name()));
            self.compare().await;
        }
    }

    /// Does with the store what the step says.
    async fn take(&mut self, step: &Step) -> Answer {
        let store = self.store;
        match step {
            Step::Claim { claim, intended } => Answer::Reply(
                store
                    .claim(claim, intended.as_ref())
                    .await
                    .expect("a claim is answered"),
            ),
            Step::Transact { claim, completion } => {
                let transact = self.abilities.transact.expect("only then is the step drawn");
                Answer::Transacted(transact(store, claim, completion.as_ref()).await)
            }
            Step::Complete(completion) => {
                Answer::Completed(store.complete(completion).await.expect("a completion is answered"))
            }
            Step::Settle { key, event, entries } => Answer::Reply(
                store
                    .settle(key, event, entries)
                    .await
                    .expect("a settlement is answered"),
            ),
            Step::Jump(_) => {
                self.stop_clock(self.model.now).await;
                Answer::Nothing
            }
            Step::Purge => {
                while store.purge(100).await.expect("a purge ends") > 0 {}
                Answer::Nothing
            }
        }
    }

    /// Compares all that can be read.
    async fn compare(&mut self) {
        for key in &self.cast.keys {
            let [none, p, q] = [None, Some(&steps::PLACES[0]), Some(&steps::PLACES[1])];
            for place in [none, p, q] {
                let found = view(self.store, key, place).await;
                self.model.compare_view(key, place, found);
            }
            let origin = self.store.origin(key).await.expect("the ledger can be read");
            self.model.compare_origin(key, origin);
        }
        let older_than = self.cast.some_age();
        let open = self.store.open_claims(older_than, u32::MAX >> 1).await;
        let mut open = open.expect("what is open can be listed");
        open.retain(|claim| self.cast.keys.contains(&claim.key));
        self.model.compare_open(older_than, &open);
    }
}

/// What a step is answered with.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Reply(crate::state::Reply),
    Transacted(Transacted),
    Completed(Completed),
    Nothing,
}

impl Answer {
    fn name(&self) -> String {
        let (reply, completed) = match self {
            Self::Reply(reply) => (format!("{reply:?}"), None),
            Self::Transacted(Transacted { reply, completed }) => (format!("{reply:?}"), *completed),
            Self::Completed(completed) => (format!("{completed:?}"), None),
            Self::Nothing => ("-".to_owned(), None),
        };
        let reply = reply.split(['(', ' ']).next().unwrap_or_default();
        match completed {
            Some(completed) => format!("{reply}, {completed:?}"),
            None => reply.to_owned(),
        }
    }
}

async fn view<S: Store>(store: &S, key: &crate::IdempotencyKey, place: Option<&[u8; 32]>) -> View {
    store.view(key, place).await.expect("the record can be read")
}

/// As the executor does: the claim, and what ends the transaction.
async fn transact<S: TransactionalStore>(store: &S, claim: &StoreClaim, completion: Option<&Completion>) -> Transacted {
    use crate::state::Reply;
    use crate::store::atomic::claim_in;

    let mut transaction = store.begin(claim.key.tenant()).await.expect("a transaction");
    let reply = claim_in(store, &mut transaction, claim)
        .await
        .expect("a claim is answered");
    let mut completed = None;
    if let (
        Reply::Claimed {
            generation, attempt, ..
        },
        Some(completion),
    ) = (&reply, completion)
    {
        let completion = completion_in(completion, *generation, *attempt);
        let answer = store.complete_in(&mut transaction, &completion).await;
        completed = Some(answer.expect("a completion is answered"));
    }
    if completed == Some(Completed::Done) {
        store.commit(transaction).await.expect("a commit");
    } else {
        store.rollback(transaction).await.expect("a roll-back");
    }
    Transacted { reply, completed }
}

fn completion_in(completion: &Completion, generation: u32, attempt: u32) -> Completion {
    let mut completion = completion.clone();
    super::parts::at(&mut completion, generation, attempt);
    completion
}

#[cfg(test)]
mod tests;
