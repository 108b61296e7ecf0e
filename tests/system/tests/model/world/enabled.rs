//! Which steps may come next.

use super::{Protocol, Step, generation};
use crate::bridge::{self, timestamp};
use crate::state::{Attempt, Phase, Worker, World};

impl Protocol {
    pub(super) fn worker_steps(&self, world: &World, worker: usize, steps: &mut Vec<Step>) {
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

    pub(super) fn key_steps(&self, world: &World, key: u8, steps: &mut Vec<Step>) {
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
            let hasty = self.setup.hasty_verdicts || !may_still_happen(world, key, record.generation);
            if !happened && hasty {
                steps.push(Step::ResolveDidNotHappen { key });
                if self.setup.stale_verdicts && world.note.is_none() {
                    steps.push(Step::Note { key });
                }
            }
            if world.note.is_some_and(|note| note.key == key) {
                steps.push(Step::ResolveNoted);
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
        steps.push(Step::RevokeFirst { key });
        for expected in 1..self.setup.generations {
            steps.push(Step::Reopen { key, expected });
        }
    }
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
