//! What may happen next, and what it makes of the world.

use idem_core::{Claim, EntryKind, Event, Reply, Settlement, Status, Timestamp};
use stateright::{Model, Property};

use crate::bridge::{self, Transition, duration, small, timestamp};
use crate::rules;
use crate::setup::{Downstream, Setup};
use crate::state::{
    Answer, Attempt, Entry, Generation, Key, Memory, Open, Outcome, Phase, Record, Recovery, Request, Rule, Token,
    Worker, World,
};

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
    Revoke {
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

    fn worker_steps(&self, world: &World, worker: usize, steps: &mut Vec<Step>) {
        let Worker { phase, wire } = world.workers[worker];
        match phase {
            Phase::Idle if world.tokens < self.setup.claims => {
                for &request in &self.setup.requests {
                    // Fingerprints are alike as well, until one has been seen.
                    if locked(world, request.key) || world.tokens == 0 && request.fingerprint > 1 {
                        continue;
                    }
                    steps.push(Step::Claim { worker, request });
                    if request.recovery.is_some() {
                        steps.push(Step::ClaimUnanswered { worker, request });
                    }
                }
            }
            Phase::Idle => {}
            Phase::Claiming(attempt) => {
                if !locked(world, attempt.request.key) {
                    steps.push(Step::ClaimAgain { worker });
                }
            }
            Phase::Running(attempt) => {
                if wire.is_none() && self.in_time(world, &attempt) {
                    steps.push(Step::Call { worker });
                }
                if !locked(world, attempt.request.key) {
                    steps.push(Step::Fail { worker });
                    steps.push(Step::Release { worker });
                    if self.setup.renewals {
                        steps.push(Step::Renew { worker });
                    }
                }
            }
            Phase::Sent(attempt, answer) if !locked(world, attempt.request.key) => {
                steps.push(Step::Fail { worker });
                if answer.is_some() {
                    steps.push(Step::Complete { worker });
                    steps.push(Step::CompleteUnanswered { worker });
                }
                if self.setup.renewals {
                    steps.push(Step::Renew { worker });
                }
            }
            Phase::Sent(..) => {}
            Phase::Transaction(_) => {
                steps.push(Step::Commit { worker });
                if self.setup.declines {
                    steps.push(Step::CommitDeclined { worker });
                }
                if self.setup.effect_commits {
                    steps.push(Step::CommitClaimAlone { worker });
                }
            }
        }
        if phase != Phase::Idle {
            steps.push(Step::Crash { worker });
        }
        if let Some(attempt) = wire {
            steps.push(Step::CallArrives { worker });
            if self.setup.delivery.is_none() {
                // Else it does so in time.
                steps.push(Step::CallGetsLost { worker });
            }
            let generation = generation(world, attempt.request.key, attempt.generation);
            if self.setup.declines && generation.calls == 0 && generation.memory.is_none() {
                steps.push(Step::CallIsRefused { worker });
            }
        }
    }

    fn key_steps(&self, world: &World, key: u8, steps: &mut Vec<Step>) {
        let Some(record) = world.keys[usize::from(key)].record else {
            if self.setup.generations > 1 {
                self.undo_steps(key, steps);
            }
            return;
        };
        if locked(world, key) {
            return;
        }
        if world.verdicts < self.setup.verdicts {
            let truth = generation(world, key, record.generation);
            let happened = truth.calls + truth.commits > 0;
            if happened {
                steps.push(Step::ResolveHappened { key });
            }
            let stale = self.setup.stale_verdicts && world.verdicts > 0;
            let hasty = self.setup.hasty_verdicts || !may_still_happen(world, key, record.generation);
            if stale || !happened && hasty {
                steps.push(Step::ResolveDidNotHappen { key });
            }
        }
        if self.setup.generations > 1 {
            self.undo_steps(key, steps);
        }
        if (self.purges)(&bridge::record(&record), timestamp(world.clock)) {
            steps.push(Step::Purge { key });
        }
    }

    fn undo_steps(&self, key: u8, steps: &mut Vec<Step>) {
        steps.push(Step::Revoke { key });
        for expected in 1..self.setup.generations {
            steps.push(Step::Reopen { key, expected });
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
                    let outcome = outcome_of(&attempt, answer);
                    self.complete(world, &attempt, outcome);
                    world.workers[worker].phase = Phase::Idle;
                }
            }
            Step::CompleteUnanswered { worker } => {
                if let Phase::Sent(attempt, Some(answer)) = world.workers[worker].phase {
                    let outcome = outcome_of(&attempt, answer);
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
            Step::ResolveHappened { key } => self.resolve(world, key, true),
            Step::ResolveDidNotHappen { key } => self.resolve(world, key, false),
            Step::Revoke { key } => self.revoke(world, key),
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

    fn claim(&self, world: &mut World, worker: usize, request: Request, answered: bool) {
        let attempt = Attempt {
            request,
            token: world.tokens + 1,
            generation: 0,
            number: 0,
            claimed_at: world.clock,
            real_claimed_at: world.real,
        };
        self.send_claim(world, worker, attempt, answered);
        if world.workers[worker].phase != Phase::Idle {
            // A claim that was not won leaves nothing of its token behind, so the next may have it.
            world.tokens += 1;
        }
    }

    fn send_claim(&self, world: &mut World, worker: usize, attempt: Attempt, answered: bool) {
        let Attempt { request, token, .. } = attempt;
        let key = request.key;
        let before = world.keys[usize::from(key)].record;
        let again = before.is_some_and(|record| record.status == Status::InFlight && record.owner == token);
        let reply = self.send(world, key, self.claim_event(&attempt));
        let phase = match reply {
            Reply::Claimed {
                generation,
                attempt: number,
            } => {
                let generation = small(generation);
                if !again {
                    rules::judge_grant(self, world, &attempt, generation, before.as_ref());
                }
                if world.broken.is_some() {
                    return;
                }
                let mut attempt = Attempt {
                    generation,
                    number: small(number),
                    ..attempt
                };
                if !again {
                    attempt.claimed_at = world.clock;
                    attempt.real_claimed_at = world.real;
                }
                if request.recovery.is_none() {
                    // Nobody sees the claim of a transaction that has not committed.
                    world.keys[usize::from(key)].record = before;
                    Phase::Transaction(attempt)
                } else {
                    if !again {
                        self.granted(world, &attempt);
                    }
                    if answered {
                        Phase::Running(attempt)
                    } else {
                        Phase::Claiming(attempt)
                    }
                }
            }
            Reply::Replay(outcome) => {
                rules::judge_replay(world, &request, bridge::outcome_back(&outcome));
                Phase::Idle
            }
            _ => Phase::Idle,
        };
        world.workers[worker].phase = phase;
    }

    fn granted(&self, world: &mut World, attempt: &Attempt) {
        let Attempt { request, token, .. } = *attempt;
        let key = &mut world.keys[usize::from(request.key)];
        key.owner = token;
        let open = Open {
            token,
            claimed_at: attempt.claimed_at,
            recovery: request.recovery.unwrap_or(Recovery::Hold),
        };
        let generation = &mut key.generations[usize::from(attempt.generation) - 1];
        generation.outcome = None;
        generation.open.push(open);
        if let Some(record) = &mut key.record {
            // Stores write when an abandoned claim could be forgotten; only its status keeps it.
            record.expires_at = Some(record.created_at + self.setup.retention);
        }
        let holds = bridge::holder(&world.ledger).is_some_and(|entry| entry.key == request.key);
        self.append(
            world,
            Entry {
                kind: EntryKind::Intended,
                slot: (self.setup.intended_slot)(attempt.number, token),
                takes_place: self.setup.place && !holds,
                ..entry(request.key, attempt.generation, request.fingerprint)
            },
        );
    }

    pub(crate) fn claim_event(&self, attempt: &Attempt) -> Event {
        let lease = attempt
            .request
            .recovery
            .map(|recovery| (duration(self.setup.lease), bridge::recovery(recovery)));
        Event::Claim(Claim {
            fingerprint: bridge::fingerprint(attempt.request.fingerprint),
            owner: bridge::token(attempt.token),
            lease,
            retention: duration(self.setup.retention),
            step_id: None,
            run_id: None,
        })
    }

    fn arrive(&self, world: &mut World, worker: usize, refused: bool) {
        let Some(attempt) = world.workers[worker].wire.take() else {
            return;
        };
        let real = world.real;
        let generation = generation_mut(world, attempt.request.key, attempt.generation);
        let answer = match (self.setup.downstream, generation.memory) {
            (Downstream::Remembers(_), Some(memory)) if memory.refused => Answer::Refused,
            (Downstream::Remembers(_), Some(memory)) => Answer::Done(memory.fingerprint),
            (downstream, _) => {
                if !refused {
                    generation.calls += 1;
                }
                if let Downstream::Remembers(time) = downstream {
                    generation.memory = Some(Memory {
                        until: real + time,
                        fingerprint: attempt.request.fingerprint,
                        refused,
                    });
                }
                if refused {
                    Answer::Refused
                } else {
                    Answer::Done(attempt.request.fingerprint)
                }
            }
        };
        if matches!(answer, Answer::Done(fingerprint) if fingerprint != attempt.request.fingerprint) {
            world.broken = Some(Rule::ForeignOutcome);
        }
        if let Phase::Sent(waiting, None) = world.workers[worker].phase
            && waiting.token == attempt.token
        {
            world.workers[worker].phase = Phase::Sent(waiting, Some(answer));
        }
    }

    fn complete(&self, world: &mut World, attempt: &Attempt, outcome: Outcome) -> bool {
        let Attempt { request, token, .. } = *attempt;
        let event = Event::Complete {
            owner: bridge::token(token),
            outcome: bridge::outcome(outcome),
            retention: duration(self.setup.retention),
        };
        let reply = self.send_as_owner(world, request.key, token, event);
        if reply != Reply::Done {
            return false;
        }
        rules::judge_completion(world, request.key, outcome);
        let leased = request.recovery.is_some();
        self.append(
            world,
            Entry {
                kind: if outcome.declined {
                    EntryKind::Declined
                } else {
                    EntryKind::Executed
                },
                slot: if outcome.declined { token } else { 0 },
                takes_place: self.setup.place && !leased && !outcome.declined,
                frees_place: self.setup.place && leased && outcome.declined,
                ..entry(request.key, attempt.generation, outcome.fingerprint)
            },
        );
        true
    }

    fn fail(&self, world: &mut World, attempt: &Attempt) {
        let event = Settlement::Fail {
            owner: bridge::token(attempt.token),
        };
        self.send_as_owner(world, attempt.request.key, attempt.token, Event::Settle(event));
    }

    /// As the executor does: an attempt that has sent nothing says that nothing happened.
    fn release(&self, world: &mut World, attempt: &Attempt) {
        let Attempt { request, token, .. } = *attempt;
        let reruns = matches!(request.recovery, Some(Recovery::Rerun(_)));
        if reruns && attempt.number > 1 && !self.setup.later_attempts_release {
            self.fail(world, attempt);
            return;
        }
        let event = Settlement::Release {
            owner: bridge::token(token),
            retention: duration(self.setup.retention),
        };
        if self.send_as_owner(world, request.key, token, Event::Settle(event)) != Reply::Done {
            return;
        }
        generation_mut(world, request.key, attempt.generation)
            .open
            .retain(|open| open.token != token);
        self.append(
            world,
            Entry {
                kind: EntryKind::Resolved,
                slot: token,
                frees_place: self.setup.place,
                ..entry(request.key, attempt.generation, request.fingerprint)
            },
        );
    }

    /// Commits a transaction with a success or a final error, or (`None`) with its claim alone.
    fn commit(&self, world: &mut World, worker: usize, declined: Option<bool>) {
        let Phase::Transaction(attempt) = world.workers[worker].phase else {
            return;
        };
        world.workers[worker].phase = Phase::Idle;
        let key = usize::from(attempt.request.key);
        let before = world.keys[key].clone();
        // The claim was decided when the transaction began; its key has been locked since.
        let began = World {
            clock: attempt.claimed_at,
            ..world.clone()
        };
        let staged = match self.decide(&began, attempt.request.key, self.claim_event(&attempt)) {
            Some((Some(staged), Reply::Claimed { .. })) => staged,
            // Another key took the place meanwhile, and the unique index rolls everything back.
            Some((_, Reply::PlaceTaken(_))) => return,
            _ => {
                world.broken = Some(Rule::Illegal);
                return;
            }
        };
        world.keys[key].record = Some(staged);
        world.keys[key].owner = attempt.token;
        let Some(declined) = declined else {
            generation_mut(world, attempt.request.key, attempt.generation).commits += 1;
            return;
        };
        let outcome = Outcome {
            declined,
            fingerprint: attempt.request.fingerprint,
            author: attempt.token,
        };
        generation_mut(world, attempt.request.key, attempt.generation).outcome = None;
        if !self.complete(world, &attempt, outcome) {
            world.keys[key] = before;
            return;
        }
        if !declined {
            generation_mut(world, attempt.request.key, attempt.generation).commits += 1;
        }
    }

    fn resolve(&self, world: &mut World, key: u8, happened: bool) {
        world.verdicts += 1;
        let token = VERDICTS + world.verdicts;
        let Some(record) = world.keys[usize::from(key)].record else {
            return;
        };
        let truth = generation(world, key, record.generation);
        let outcome = happened.then(|| Outcome {
            declined: false,
            fingerprint: truth.memory.map_or(record.fingerprint, |memory| memory.fingerprint),
            author: token,
        });
        let event = Settlement::Resolve {
            outcome: outcome.map(bridge::outcome),
            owner: bridge::token(token),
            retention: duration(self.setup.retention),
        };
        if self.send(world, key, Event::Settle(event)) != Reply::Done {
            world.verdicts -= 1;
            return;
        }
        world.keys[usize::from(key)].owner = token;
        let entry = entry(key, record.generation, record.fingerprint);
        match outcome {
            Some(outcome) => {
                rules::judge_completion(world, key, outcome);
                self.append(
                    world,
                    Entry {
                        kind: EntryKind::Executed,
                        ..entry
                    },
                );
            }
            None => {
                generation_mut(world, key, record.generation).open.clear();
                self.append(
                    world,
                    Entry {
                        kind: EntryKind::Resolved,
                        slot: token,
                        frees_place: self.setup.place,
                        ..entry
                    },
                );
            }
        }
    }

    fn revoke(&self, world: &mut World, key: u8) {
        let event = Event::Revoke {
            retention: duration(self.setup.retention),
        };
        let own = bridge::view(&world.ledger, key).own;
        if self.send(world, key, event) != Reply::Done {
            return;
        }
        let Some(standing) = own.filter(|standing| standing.kind != EntryKind::Reopened) else {
            world.broken = Some(Rule::Undone);
            return;
        };
        let number = small(standing.entry.generation);
        generation_mut(world, key, number).undone = true;
        let fingerprint = standing.fingerprint.as_bytes()[0];
        self.append(
            world,
            Entry {
                kind: EntryKind::Revoked,
                frees_place: self.setup.place,
                ..entry(key, number, fingerprint)
            },
        );
    }

    fn reopen(&self, world: &mut World, key: u8, expected: u8) {
        let newest = world.keys[usize::from(key)].generations.len();
        let token = REOPENINGS + small(u32::try_from(newest).expect("few generations"));
        let event = Event::Reopen {
            expected_generation: expected.into(),
            owner: bridge::token(token),
            retention: duration(self.setup.retention),
        };
        let own = bridge::view(&world.ledger, key).own;
        if self.send(world, key, event) != Reply::Done {
            return;
        }
        let truth = &mut world.keys[usize::from(key)];
        let undone = truth.generations.last().is_some_and(|generation| generation.undone);
        if usize::from(expected) != newest || !undone {
            world.broken = Some(Rule::Undone);
            return;
        }
        truth.owner = token;
        truth.generations.push(Generation::default());
        let fingerprint = own.map_or(0, |standing| standing.fingerprint.as_bytes()[0]);
        self.append(
            world,
            Entry {
                kind: EntryKind::Reopened,
                ..entry(key, expected + 1, fingerprint)
            },
        );
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
                    Some((again, told)) if again == after && told == reply => {}
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

/// Whether a call of this generation may be made or arrive without another claim.
fn may_still_happen(world: &World, key: u8, generation: u8) -> bool {
    let of_it = |attempt: &Attempt| (attempt.request.key, attempt.generation) == (key, generation);
    world.workers.iter().any(|worker| {
        let in_phase = match &worker.phase {
            Phase::Claiming(attempt) | Phase::Running(attempt) | Phase::Sent(attempt, _) => of_it(attempt),
            Phase::Idle | Phase::Transaction(_) => false,
        };
        in_phase || worker.wire.as_ref().is_some_and(of_it)
    })
}

/// Whether a transaction holds the key.
fn locked(world: &World, key: u8) -> bool {
    world
        .workers
        .iter()
        .any(|worker| matches!(worker.phase, Phase::Transaction(attempt) if attempt.request.key == key))
}

pub(crate) fn generation(world: &World, key: u8, number: u8) -> &Generation {
    &world.keys[usize::from(key)].generations[usize::from(number) - 1]
}

pub(crate) fn generation_mut(world: &mut World, key: u8, number: u8) -> &mut Generation {
    &mut world.keys[usize::from(key)].generations[usize::from(number) - 1]
}

fn outcome_of(attempt: &Attempt, answer: Answer) -> Outcome {
    let (declined, fingerprint) = match answer {
        Answer::Done(fingerprint) => (false, fingerprint),
        Answer::Refused => (true, attempt.request.fingerprint),
    };
    Outcome {
        declined,
        fingerprint,
        author: attempt.token,
    }
}

fn entry(key: u8, generation: u8, fingerprint: u8) -> Entry {
    Entry {
        key,
        kind: EntryKind::Resolved,
        generation,
        slot: 0,
        fingerprint,
        takes_place: false,
        frees_place: false,
    }
}

const JUMP: i8 = 3;
/// Tokens of verdicts and reopenings are apart from those of claims.
const VERDICTS: Token = 100;
const REOPENINGS: Token = 200;
