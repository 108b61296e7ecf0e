//! What workers, the downstream and people do.

use idem_core::{AttemptId, Claim, EntryKind, Event, Reply, Settlement, Status};

use super::{Protocol, generation, generation_mut};
use crate::bridge::{self, duration, small};
use crate::rules;
use crate::setup::Downstream;
use crate::state::{
    Answer, Attempt, Entry, Generation, Memory, Note, Open, Outcome, Phase, Recovery, Request, Rule, Token, World,
};

impl Protocol {
    pub(super) fn claim(&self, world: &mut World, worker: usize, request: Request, answered: bool) {
        let attempt = Attempt {
            request,
            token: world.tokens + 1,
            generation: 0,
            number: 0,
            took_over: false,
            claimed_at: world.clock,
            real_claimed_at: world.real,
        };
        self.send_claim(world, worker, attempt, answered);
        if world.workers[worker].phase != Phase::Idle {
            // A claim that was not won leaves nothing of its token behind, so the next may have it.
            world.tokens += 1;
        }
    }

    pub(super) fn send_claim(&self, world: &mut World, worker: usize, attempt: Attempt, answered: bool) {
        let Attempt { request, token, .. } = attempt;
        let key = request.key;
        let before = world.keys[usize::from(key)].record;
        let again = before.is_some_and(|record| record.status == Status::InFlight && record.owner == token);
        let reply = self.send(world, key, self.claim_event(&attempt));
        let phase = match reply {
            Reply::Claimed {
                generation,
                attempt: number,
                took_over,
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
                    took_over,
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
            tombstone: None,
            step_id: None,
            run_id: None,
        })
    }

    pub(super) fn arrive(&self, world: &mut World, worker: usize, refused: bool) {
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

    pub(super) fn complete(&self, world: &mut World, attempt: &Attempt, outcome: Outcome) -> bool {
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

    pub(super) fn fail(&self, world: &mut World, attempt: &Attempt) {
        let event = Settlement::Fail {
            owner: bridge::token(attempt.token),
        };
        self.send_as_owner(world, attempt.request.key, attempt.token, Event::Settle(event));
    }

    /// As the executor does: an attempt that has sent nothing says that nothing happened.
    pub(super) fn release(&self, world: &mut World, attempt: &Attempt) {
        let Attempt { request, token, .. } = *attempt;
        if attempt.took_over && !self.setup.later_attempts_release {
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
    pub(super) fn commit(&self, world: &mut World, worker: usize, declined: Option<bool>) {
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

    /// `looked_into` is the attempt of the verdict, unless it is about what stands.
    pub(super) fn resolve(&self, world: &mut World, key: u8, looked_into: Option<Note>, happened: bool) {
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
        let Note {
            generation: number,
            attempt,
            since,
            ..
        } = looked_into.unwrap_or(Note {
            key,
            generation: record.generation,
            attempt: record.attempt,
            since: record.created_at,
        });
        let event = Settlement::Resolve {
            attempt: AttemptId {
                generation: number.into(),
                attempt: attempt.into(),
                since: bridge::timestamp(since),
            },
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

    /// `seen` is the generation that was looked at, unless it is the one that stands.
    pub(super) fn revoke(&self, world: &mut World, key: u8, seen: Option<u8>) {
        let own = bridge::view(&world.ledger, key).own;
        let standing = own.as_ref().map_or(1, |standing| standing.entry.generation);
        let seen = seen.map_or(standing, u32::from);
        let undone = |world: &World| {
            let generations = &world.keys[usize::from(key)].generations;
            let seen = usize::from(small(seen))
                .checked_sub(1)
                .and_then(|index| generations.get(index));
            seen.is_some_and(|generation| generation.undone)
        };
        // Somebody else's, where it has been undone before.
        let token = REVOCATIONS + 2 * small(seen) + Token::from(undone(world));
        let event = Event::Settle(Settlement::Revoke {
            expected_generation: seen,
            owner: bridge::token(token),
            retention: duration(self.setup.retention),
        });
        if self.send(world, key, event) != Reply::Done {
            return;
        }
        if undone(world) || own.as_ref().is_some_and(|standing| standing.entry.generation != seen) {
            world.broken = Some(Rule::Undone);
            return;
        }
        world.keys[usize::from(key)].owner = token;
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

    pub(super) fn reopen(&self, world: &mut World, key: u8, expected: u8) {
        let newest = world.keys[usize::from(key)].generations.len();
        let token = REOPENINGS + small(u32::try_from(newest).expect("few generations"));
        let event = Event::Settle(Settlement::Reopen {
            expected_generation: expected.into(),
            place: None,
            owner: bridge::token(token),
            retention: duration(self.setup.retention),
        });
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
}

pub(super) fn outcome_of(attempt: &Attempt, answer: Answer) -> Outcome {
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

/// Tokens of verdicts and reopenings are apart from those of claims.
const VERDICTS: Token = 100;
const REVOCATIONS: Token = 150;
const REOPENINGS: Token = 200;
