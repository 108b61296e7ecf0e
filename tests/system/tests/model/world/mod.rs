//! What may happen next, and what it makes of the world.

mod acts;
mod enabled;

use idem_core::{EntryKind, Event, Reply, Settlement, Status, Timestamp};
use stateright::{Model, Property};

use crate::bridge::{self, Transition, duration, small, timestamp};
use crate::rules;
use crate::setup::Setup;
use crate::state::{Attempt, Entry, Generation, Key, Note, Phase, Record, Request, Rule, Token, Worker, World};

/// The protocol around one transition function.
#[derive(Clone)]
pub(crate) struct Protocol {
    pub(crate) transition: Transition,
    /// Which records a purge removes.
    pub(crate) purges: fn(&idem_core::Record, Timestamp) -> bool,
    pub(crate) setup: Setup,
}

/// One step. Workers are named by their position in the sorted list before the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Claim {
        worker: usize,
        request: Request,
    },
    ClaimUnanswered {
        worker: usize,
        request: Request,
    },
    ClaimAgain {
        worker: usize,
    },
    Renew {
        worker: usize,
    },
    Call {
        worker: usize,
    },
    CallArrives {
        worker: usize,
    },
    CallIsRefused {
        worker: usize,
    },
    CallGetsLost {
        worker: usize,
    },
    Complete {
        worker: usize,
    },
    CompleteUnanswered {
        worker: usize,
    },
    Fail {
        worker: usize,
    },
    Release {
        worker: usize,
    },
    Commit {
        worker: usize,
    },
    CommitDeclined {
        worker: usize,
    },
    /// The effect ends the transaction itself, so the claim is committed without an outcome.
    CommitClaimAlone {
        worker: usize,
    },
    /// The process ends; so it does after a claim, a call or a completion whose answer it never hears.
    Crash {
        worker: usize,
    },
    ResolveHappened {
        key: u8,
    },
    ResolveDidNotHappen {
        key: u8,
    },
    /// Somebody finds out that the attempt had no effect, and says so later or never.
    Note {
        key: u8,
    },
    ResolveNoted,
    Revoke {
        key: u8,
    },
    /// Somebody asks for it who has seen an earlier generation.
    RevokeFirst {
        key: u8,
    },
    Reopen {
        key: u8,
        expected: u8,
    },
    Purge {
        key: u8,
    },
    Tick,
    JumpAhead,
    JumpBack,
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let setup = &self.setup;
        let key = Key {
            record: None,
            owner: 0,
            generations: vec![Generation::default()],
        };
        let worker = Worker {
            phase: Phase::Idle,
            wire: None,
        };
        vec![World {
            clock: 0,
            real: 0,
            jumps_left: setup.jumps_ahead,
            back_left: setup.jumps_back,
            tokens: 0,
            verdicts: 0,
            note: None,
            keys: vec![key; setup.keys()],
            ledger: vec![],
            workers: vec![worker; setup.workers],
            broken: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.broken.is_some() {
            return;
        }
        for worker in 0..world.workers.len() {
            // Workers that are alike do alike.
            if worker == 0 || world.workers[worker] != world.workers[worker - 1] {
                self.worker_steps(world, worker, steps);
            }
        }
        for key in 0..small(u32::try_from(world.keys.len()).expect("few keys")) {
            self.key_steps(world, key, steps);
        }
        if world.clock < self.setup.until {
            steps.push(Step::Tick);
            if world.jumps_left > 0 {
                steps.push(Step::JumpAhead);
            }
        }
        if world.back_left > 0 && world.clock > 0 {
            steps.push(Step::JumpBack);
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        self.take(&mut world, step);
        self.tidy(&mut world);
        if world == *before {
            return None;
        }
        if world.broken.is_none() {
            world.broken = rules::broken(self, &world);
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        rules::properties()
    }
}

impl Protocol {
    /// The protocol as it is.
    pub(crate) fn of(setup: Setup) -> Self {
        Self {
            transition: idem_core::transition,
            purges: idem_core::Record::is_expired,
            setup,
        }
    }

    fn take(&self, world: &mut World, step: Step) {
        match step {
            Step::Claim { worker, request } => self.claim(world, worker, request, true),
            Step::ClaimUnanswered { worker, request } => self.claim(world, worker, request, false),
            Step::ClaimAgain { worker } => {
                let Phase::Claiming(attempt) = world.workers[worker].phase else {
                    return;
                };
                self.send_claim(world, worker, attempt, true);
            }
            Step::Renew { worker } => {
                let (Phase::Running(attempt) | Phase::Sent(attempt, _)) = world.workers[worker].phase else {
                    return;
                };
                let event = Settlement::Renew {
                    owner: bridge::token(attempt.token),
                    lease: duration(self.setup.lease),
                };
                self.send_as_owner(world, attempt.request.key, attempt.token, Event::Settle(event));
            }
            Step::Call { worker } => {
                if let Phase::Running(attempt) = world.workers[worker].phase {
                    world.workers[worker] = Worker {
                        phase: Phase::Sent(attempt, None),
                        wire: Some(attempt),
                    };
                }
            }
            Step::CallArrives { worker } => self.arrive(world, worker, false),
            Step::CallIsRefused { worker } => self.arrive(world, worker, true),
            Step::CallGetsLost { worker } => world.workers[worker].wire = None,
            Step::Complete { worker } => {
                if let Phase::Sent(attempt, Some(answer)) = world.workers[worker].phase {
                    let outcome = acts::outcome_of(&attempt, answer);
                    self.complete(world, &attempt, outcome);
                    world.workers[worker].phase = Phase::Idle;
                }
            }
            Step::CompleteUnanswered { worker } => {
                if let Phase::Sent(attempt, Some(answer)) = world.workers[worker].phase {
                    let outcome = acts::outcome_of(&attempt, answer);
                    self.complete(world, &attempt, outcome);
                }
            }
            Step::Fail { worker } => {
                let (Phase::Running(attempt) | Phase::Sent(attempt, _)) = world.workers[worker].phase else {
                    return;
                };
                self.fail(world, &attempt);
                world.workers[worker].phase = Phase::Idle;
            }
            Step::Release { worker } => {
                if let Phase::Running(attempt) = world.workers[worker].phase {
                    self.release(world, &attempt);
                    world.workers[worker].phase = Phase::Idle;
                }
            }
            Step::Commit { worker } => self.commit(world, worker, Some(false)),
            Step::CommitDeclined { worker } => self.commit(world, worker, Some(true)),
            Step::CommitClaimAlone { worker } => self.commit(world, worker, None),
            Step::Crash { worker } => world.workers[worker].phase = Phase::Idle,
            Step::ResolveHappened { key } => self.resolve(world, key, None, true),
            Step::ResolveDidNotHappen { key } => self.resolve(world, key, None, false),
            Step::Note { key } => {
                world.note = world.keys[usize::from(key)].record.map(|record| Note {
                    key,
                    generation: record.generation,
                    attempt: record.attempt,
                    since: record.created_at,
                });
            }
            Step::ResolveNoted => {
                if let Some(note) = world.note.take() {
                    self.resolve(world, note.key, Some(note), false);
                }
            }
            Step::Revoke { key } => self.revoke(world, key, None),
            Step::RevokeFirst { key } => self.revoke(world, key, Some(1)),
            Step::Reopen { key, expected } => self.reopen(world, key, expected),
            Step::Purge { key } => world.keys[usize::from(key)].record = None,
            Step::Tick => {
                world.clock += 1;
                world.real += 1;
            }
            Step::JumpAhead => {
                world.clock += JUMP;
                world.jumps_left -= 1;
            }
            Step::JumpBack => {
                world.clock -= 1;
                world.back_left -= 1;
            }
        }
    }

    /// Sends an event that carries the token of an attempt, and holds the answer against who the owner is.
    fn send_as_owner(&self, world: &mut World, key: u8, token: Token, event: Event) -> Reply {
        let before = world.keys[usize::from(key)].clone();
        let completes = matches!(event, Event::Complete { .. });
        let reply = self.send(world, key, event);
        let after = world.keys[usize::from(key)].record;
        if before.owner != token && (reply != Reply::Stale || after != before.record) {
            world.broken = Some(Rule::StaleOwner);
        }
        let open = before
            .record
            .is_some_and(|record| matches!(record.status, Status::InFlight | Status::Unknown));
        if completes && before.owner == token && open && reply != Reply::Done {
            world.broken = Some(Rule::OwnerRefused);
        }
        reply
    }

    /// Lets the transition function decide an event and keeps what it says, as the stores do.
    fn send(&self, world: &mut World, key: u8, event: Event) -> Reply {
        let before = world.keys[usize::from(key)].record;
        let Some((after, reply)) = self.decide(world, key, event.clone()) else {
            world.broken = Some(Rule::Illegal);
            return Reply::Stale;
        };
        match &reply {
            Reply::Claimed { .. } | Reply::Done | Reply::OutcomeUnknown { .. } => {
                world.keys[usize::from(key)].record = after;
                match self.decide(world, key, event) {
                    Some((again, told)) if again == after && same_answer(&reply, told.clone()) => {}
                    _ => world.broken = Some(Rule::Resent),
                }
            }
            // An expired record may be dropped as well.
            _ if after == before || after.is_none() && before.is_some_and(|record| expired(&record, world.clock)) => {}
            _ => world.broken = Some(Rule::ChangedByRefusal),
        }
        reply
    }

    pub(crate) fn decide(&self, world: &World, key: u8, event: Event) -> Option<(Option<Record>, Reply)> {
        let record = world.keys[usize::from(key)].record;
        let ledger = bridge::view(&world.ledger, key);
        let now = timestamp(world.clock);
        let (record, reply) = (self.transition)(record.as_ref().map(bridge::record), &ledger, event, now).ok()?;
        Some((record.as_ref().map(bridge::record_back), reply))
    }

    /// Appends an entry unless one like it is there. Without a place only what stands counts.
    fn append(&self, world: &mut World, entry: Entry) {
        let stands = matches!(
            entry.kind,
            EntryKind::Executed | EntryKind::Revoked | EntryKind::Reopened
        );
        let like = |other: &Entry| {
            (other.key, other.kind, other.generation, other.slot)
                == (entry.key, entry.kind, entry.generation, entry.slot)
        };
        if (stands || self.setup.place) && !world.ledger.iter().any(like) {
            world.ledger.push(entry);
        }
    }

    /// Whether a call of this attempt can still reach the downstream.
    fn in_time(&self, world: &World, attempt: &Attempt) -> bool {
        self.setup
            .delivery
            .is_none_or(|longest| world.real <= attempt.real_claimed_at + longest)
    }

    /// Makes worlds equal that cannot be told apart any more.
    fn tidy(&self, world: &mut World) {
        for worker in 0..world.workers.len() {
            if world.workers[worker]
                .wire
                .is_some_and(|attempt| !self.in_time(world, &attempt))
            {
                world.workers[worker].wire = None;
            }
        }
        let real = world.real;
        for generation in world.keys.iter_mut().flat_map(|key| &mut key.generations) {
            generation.memory = generation.memory.filter(|memory| memory.until > real);
        }
        world.workers.sort_unstable();
    }
}

pub(crate) fn expired(record: &Record, clock: i8) -> bool {
    record.status.expires() && record.expires_at.is_some_and(|end| end <= clock)
}

/// Whether what was sent again got its first answer. That an earlier attempt may have had the effect may be said where it was
/// not before, and never the other way round.
fn same_answer(first: &Reply, mut again: Reply) -> bool {
    if let (Reply::Claimed { took_over: before, .. }, Reply::Claimed { took_over: after, .. }) = (first, &mut again) {
        *after &= *before;
    }
    *first == again
}

pub(crate) fn generation(world: &World, key: u8, number: u8) -> &Generation {
    &world.keys[usize::from(key)].generations[usize::from(number) - 1]
}

pub(crate) fn generation_mut(world: &mut World, key: u8, number: u8) -> &mut Generation {
    &mut world.keys[usize::from(key)].generations[usize::from(number) - 1]
}

const JUMP: i8 = 3;
