//! The invariants, as judgements on steps and on worlds.

use idem_core::{AttemptId, EntryKind, Event, Reply, Settlement, Status};
use stateright::Property;

use crate::bridge::{self, duration};
use crate::state::{Attempt, Outcome, Phase, Record, Recovery, Request, Rule, World};
use crate::world::{Protocol, expired, generation, generation_mut};

/// A claim was granted that had not been granted before. `before` is the record that it found.
pub(crate) fn judge_grant(
    protocol: &Protocol,
    world: &mut World,
    attempt: &Attempt,
    number: u8,
    before: Option<&Record>,
) {
    let key = &world.keys[usize::from(attempt.request.key)];
    let newest = key.generations.len();
    let Some(generation) = key.generations.get(usize::from(number) - 1) else {
        world.broken = Some(Rule::Undone);
        return;
    };
    let earlier = &key.generations[..usize::from(number) - 1];
    let stands = before.is_some_and(|record| !expired(record, world.clock) && generation.outcome.is_some());
    let had_effect = generation.calls + generation.commits > 0 && generation.completed > 0;
    let own = attempt.request.recovery.unwrap_or(Recovery::Hold);
    let live = before.is_some_and(|record| {
        record.status == Status::InFlight && record.lease_until.is_some_and(|end| end > world.clock)
    });
    let broken = if had_effect || stands || usize::from(number) != newest {
        Some(Rule::AfterTheEffect)
    } else if earlier.iter().any(|earlier| !earlier.undone) {
        Some(Rule::Undone)
    } else if bound(world, attempt.request.key, number).is_some_and(|bound| bound != attempt.request.fingerprint) {
        Some(Rule::Unbound)
    } else if live {
        Some(Rule::BesideAnother)
    } else if let Some(first) = generation.open.first() {
        // Somebody may have had the effect, or may be about to.
        let recoveries = generation.open.iter().map(|open| open.recovery).chain([own]);
        match recoveries.reduce(stricter) {
            Some(Recovery::Rerun(remembered)) if world.clock >= first.claimed_at + remembered => {
                Some(Rule::BeyondHorizon)
            }
            Some(Recovery::Rerun(_)) => None,
            Some(Recovery::Hold) | None => Some(Rule::BesideAnother),
        }
    } else if protocol.setup.place
        && attempt.request.recovery.is_some()
        && others_hold_place(world, attempt.request.key)
    {
        Some(Rule::PlaceTwice)
    } else {
        None
    };
    world.broken = world.broken.or(broken);
}

/// The model's own idea of the stricter of two.
fn stricter(a: Recovery, b: Recovery) -> Recovery {
    match (a, b) {
        (Recovery::Rerun(a), Recovery::Rerun(b)) => Recovery::Rerun(a.min(b)),
        _ => Recovery::Hold,
    }
}

/// The fingerprint that a later generation is bound to.
fn bound(world: &World, key: u8, number: u8) -> Option<u8> {
    let before = number.checked_sub(1).filter(|before| *before > 0)?;
    generation(world, key, before)
        .outcome
        .map(|outcome| outcome.fingerprint)
}

fn others_hold_place(world: &World, key: u8) -> bool {
    let others = world.keys.iter().zip(0u8..).filter(|(_, other)| *other != key);
    others.flat_map(|(other, _)| &other.generations).any(|generation| {
        !generation.undone && (generation.calls + generation.commits > 0 || !generation.open.is_empty())
    })
}

/// A claim was answered with a recorded outcome.
pub(crate) fn judge_replay(world: &mut World, request: &Request, outcome: Outcome) {
    let newest = world.keys[usize::from(request.key)].generations.last();
    if outcome.fingerprint != request.fingerprint {
        world.broken = Some(Rule::ForeignOutcome);
    } else if newest.is_none_or(|generation| generation.undone || generation.outcome != Some(outcome)) {
        world.broken = Some(Rule::OutcomeChanged);
    }
}

/// A completion or a verdict took effect, so somebody is told that `outcome` stands.
pub(crate) fn judge_completion(world: &mut World, key: u8, outcome: Outcome) {
    let Some(record) = world.keys[usize::from(key)].record else {
        world.broken = Some(Rule::EffectWithoutRecord);
        return;
    };
    if record.status != Status::Completed || record.outcome != Some(outcome) {
        world.broken = Some(Rule::OutcomeChanged);
        return;
    }
    let generation = generation_mut(world, key, record.generation);
    match generation.outcome {
        Some(before) if before == outcome => {}
        Some(_) => world.broken = Some(Rule::OutcomeChanged),
        None => {
            generation.outcome = Some(outcome);
            generation.open.clear();
            if !outcome.declined {
                generation.completed += 1;
                if generation.completed > 1 {
                    world.broken = Some(Rule::ExecutedTwice);
                }
            }
        }
    }
}

/// What is wrong with a world, however it came to be.
pub(crate) fn broken(protocol: &Protocol, world: &World) -> Option<Rule> {
    let setup = &protocol.setup;
    for (key, number) in world.keys.iter().zip(0u8..) {
        for (generation, at) in key.generations.iter().zip(1u8..) {
            let declined = generation.outcome.is_some_and(|outcome| outcome.declined);
            let executed = world
                .ledger
                .iter()
                .any(|entry| (entry.key, entry.generation, entry.kind) == (number, at, EntryKind::Executed));
            if executed != (generation.completed > 0) {
                return Some(Rule::EffectWithoutRecord);
            }
            if !setup.effect_commits && generation.commits > generation.completed
                || generation.completed > generation.calls + generation.commits
                || declined && generation.calls + generation.commits > 0
            {
                return Some(Rule::EffectWithoutRecord);
            }
            if generation.calls + generation.commits > 1 {
                return Some(Rule::SecondCall);
            }
        }
        if let Some(record) = &key.record
            && record.status == Status::Completed
            && generation(world, number, record.generation).outcome != record.outcome
        {
            return Some(Rule::OutcomeChanged);
        }
    }
    let standing = world.keys.iter().flat_map(|key| &key.generations);
    if setup.place && standing.filter(|it| !it.undone && it.calls + it.commits > 0).count() > 1 {
        return Some(Rule::PlaceTwice);
    }
    let keys = 0..u8::try_from(world.keys.len()).unwrap_or(u8::MAX);
    keys.into_iter()
        .any(|key| !can_end(protocol, world, key))
        .then_some(Rule::NoEnd)
}

/// Whether every process may die now, time pass, and the next claim still lead to an end: an outcome,
/// a refusal because of one, or an unknown outcome that either verdict settles.
fn can_end(protocol: &Protocol, world: &World, key: u8) -> bool {
    let mut world = World {
        clock: LONG_AFTER,
        ..world.clone()
    };
    let fingerprint = world.keys[usize::from(key)].record.map(|record| record.fingerprint);
    let own = bridge::view(&world.ledger, key)
        .own
        .map(|own| own.fingerprint.as_bytes()[0]);
    let attempt = Attempt {
        request: Request {
            key,
            fingerprint: fingerprint.or(own).unwrap_or(1),
            recovery: protocol.setup.requests[0].recovery,
        },
        token: LAST,
        generation: 0,
        number: 0,
        took_over: false,
        claimed_at: LONG_AFTER,
        real_claimed_at: LONG_AFTER,
    };
    let outcome = Outcome {
        declined: false,
        fingerprint: 1,
        author: LAST,
    };
    let retention = duration(1);
    let ends = |world: &World, event: Event| matches!(protocol.decide(world, key, event), Some((_, Reply::Done)));
    let Some((record, reply)) = protocol.decide(&world, key, protocol.claim_event(&attempt)) else {
        return false;
    };
    match reply {
        Reply::Replay(_) | Reply::AlreadyExecuted(_) | Reply::Revoked(_) | Reply::PlaceTaken(_) => true,
        Reply::Claimed { .. } => {
            world.keys[usize::from(key)].record = record;
            let complete = Event::Complete {
                owner: bridge::token(LAST),
                outcome: bridge::outcome(outcome),
                retention,
            };
            ends(&world, complete)
        }
        Reply::OutcomeUnknown { generation, attempt } => {
            let since = record.map_or(0, |record| record.created_at);
            let attempt = AttemptId {
                generation,
                attempt,
                since: bridge::timestamp(since),
            };
            world.keys[usize::from(key)].record = record;
            let resolve = |outcome: Option<Outcome>| {
                Event::Settle(Settlement::Resolve {
                    attempt,
                    outcome: outcome.map(bridge::outcome),
                    owner: bridge::token(LAST),
                    retention,
                })
            };
            ends(&world, resolve(Some(outcome))) && ends(&world, resolve(None))
        }
        _ => false,
    }
}

/// The invariants, and what a run has to come across, so that they are not true of nothing.
pub(crate) fn properties() -> Vec<Property<Protocol>> {
    let mut properties = never();
    properties.extend(sights());
    properties
}

fn never() -> Vec<Property<Protocol>> {
    macro_rules! never {
        ($($rule:ident: $name:literal),* $(,)?) => {
            vec![$(Property::always($name, |_: &Protocol, world: &World| world.broken != Some(Rule::$rule))),*]
        };
    }
    never! {
        ExecutedTwice: "a generation is executed once",
        EffectWithoutRecord: "effect, record and ledger entry stand together",
        SecondCall: "the effect happens once in a generation",
        BesideAnother: "nothing runs beside an attempt that may have the effect",
        BeyondHorizon: "nothing runs again beyond the horizon",
        AfterTheEffect: "nothing runs where an outcome stands",
        ForeignOutcome: "nobody gets another fingerprint's outcome",
        OutcomeChanged: "a completed outcome stays as it is",
        StaleOwner: "a stale owner changes nothing",
        OwnerRefused: "the owner's acknowledgement is accepted, however late",
        Resent: "what is sent again changes nothing and gets the same answer",
        ChangedByRefusal: "a refusal changes nothing",
        PlaceTwice: "a place holds one effect",
        Unbound: "a reopened generation is bound to its fingerprint",
        Undone: "an effect is undone once, and only what was undone is reopened",
        NoEnd: "everything can be brought to an end",
        Illegal: "no record of the protocol's own making is corrupt",
    }
}

fn sights() -> Vec<Property<Protocol>> {
    fn record(world: &World, sight: impl Fn(&Record) -> bool) -> bool {
        world.keys.iter().filter_map(|key| key.record.as_ref()).any(sight)
    }
    vec![
        Property::sometimes(sight::COMPLETED, |_, world: &World| {
            record(world, |record| record.status == Status::Completed)
        }),
        Property::sometimes(sight::UNKNOWN, |_, world: &World| {
            record(world, |record| record.status == Status::Unknown)
        }),
        Property::sometimes(sight::TAKEOVER, |_, world: &World| {
            world.keys.iter().any(|key| {
                let flight = key.record.is_some_and(|record| record.status == Status::InFlight);
                flight && key.generations.iter().any(|generation| generation.open.len() > 1)
            })
        }),
        Property::sometimes(sight::ZOMBIE, |_, world: &World| {
            world.workers.iter().any(|worker| match worker.phase {
                Phase::Running(attempt) | Phase::Sent(attempt, _) => {
                    world.keys[usize::from(attempt.request.key)].owner != attempt.token
                }
                Phase::Idle | Phase::Claiming(_) | Phase::Transaction(_) => false,
            })
        }),
        Property::sometimes(sight::PURGED, |_, world: &World| {
            world
                .keys
                .iter()
                .any(|key| key.record.is_none() && key.generations[0].completed > 0)
        }),
        Property::sometimes(sight::AGAIN, |_, world: &World| {
            world
                .keys
                .iter()
                .any(|key| key.generations.get(1).is_some_and(|second| second.completed > 0))
        }),
        Property::sometimes(sight::DECLINED, |_, world: &World| {
            record(world, |record| record.outcome.is_some_and(|outcome| outcome.declined))
        }),
    ]
}

/// What the runs of a setup have to come across.
pub(crate) mod sight {
    pub(crate) const COMPLETED: &str = "a completed record";
    pub(crate) const UNKNOWN: &str = "an unknown outcome";
    pub(crate) const TAKEOVER: &str = "a takeover";
    pub(crate) const ZOMBIE: &str = "an attempt that does not know it was fenced out";
    pub(crate) const PURGED: &str = "an effect that outlives its record";
    pub(crate) const AGAIN: &str = "an effect that was undone and had again";
    pub(crate) const DECLINED: &str = "a final error";
}

const LONG_AFTER: i8 = 100;
const LAST: u8 = 250;
