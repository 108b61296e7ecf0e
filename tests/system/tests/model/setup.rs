//! How large a world is explored, and what is assumed of what is not idem's.

use crate::rules::sight;
use crate::state::{Recovery, Request, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Downstream {
    /// Recognises a key for so long after its first call, in real time.
    Remembers(i8),
    /// Takes every call for a new one.
    NeverRepeats,
}

/// Bounds and assumptions of one exploration.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    /// What an exploration has to come across.
    pub(crate) sights: &'static [&'static str],
    pub(crate) workers: usize,
    pub(crate) requests: Vec<Request>,
    pub(crate) downstream: Downstream,
    /// How many claims are won at most.
    pub(crate) claims: Token,
    /// How many ticks the storage's clock may reach.
    pub(crate) until: i8,
    pub(crate) jumps_ahead: u8,
    pub(crate) jumps_back: u8,
    pub(crate) generations: u8,
    pub(crate) verdicts: u8,
    /// Whether all requests share a `once_per` place.
    pub(crate) place: bool,
    pub(crate) lease: i8,
    pub(crate) retention: i8,
    /// How long after its claim a call can still reach the downstream; `None` for ever.
    pub(crate) delivery: Option<i8>,
    pub(crate) declines: bool,
    pub(crate) renewals: bool,
    /// Whether an effect may end its transaction itself.
    pub(crate) effect_commits: bool,
    /// Whether somebody finds out that an attempt did not happen, and says so when time has passed.
    pub(crate) stale_verdicts: bool,
    /// Whether somebody says "it did not happen" while a call may still arrive.
    pub(crate) hasty_verdicts: bool,
    /// Whether an attempt that took over releases the claim when nothing happened in itself.
    pub(crate) later_attempts_release: bool,
    /// What sets two `intended` entries apart: see `Entry::slot`.
    pub(crate) intended_slot: fn(u8, Token) -> u8,
}

impl Setup {
    /// What callers declare, and for how long at least a downstream remembers.
    pub(crate) const REMEMBERED: i8 = 2;

    fn new(name: &'static str, requests: Vec<Request>) -> Self {
        Self {
            name,
            sights: &[sight::COMPLETED, sight::PURGED],
            workers: 3,
            requests,
            downstream: Downstream::NeverRepeats,
            claims: 3,
            until: 4,
            jumps_ahead: 0,
            jumps_back: 0,
            generations: 1,
            verdicts: 0,
            place: false,
            lease: 1,
            retention: 3,
            delivery: None,
            declines: false,
            renewals: false,
            effect_commits: false,
            stale_verdicts: false,
            hasty_verdicts: false,
            later_attempts_release: false,
            intended_slot: |_, token| token,
        }
    }

    pub(crate) fn keys(&self) -> usize {
        let highest = self.requests.iter().map(|request| request.key).max();
        usize::from(highest.unwrap_or(0)) + 1
    }

    /// Transactions of three processes, two of which may want something else under the same key.
    pub(crate) fn transactional() -> Self {
        Self {
            sights: &[sight::COMPLETED, sight::PURGED, sight::AGAIN, sight::DECLINED],
            declines: true,
            generations: 2,
            claims: 4,
            until: 6,
            jumps_ahead: 1,
            jumps_back: 1,
            ..Self::new("transactional", vec![request(1, None), request(2, None)])
        }
    }

    /// Effects that end their transaction themselves, and a person who clears up.
    pub(crate) fn broken_transactions() -> Self {
        Self {
            sights: &[sight::COMPLETED],
            effect_commits: true,
            verdicts: 2,
            ..Self::new("broken transactions", vec![request(1, None), request(2, None)])
        }
    }

    /// A downstream that knows no keys.
    pub(crate) fn hold() -> Self {
        Self {
            sights: &[sight::COMPLETED, sight::UNKNOWN, sight::ZOMBIE, sight::PURGED],
            verdicts: 2,
            renewals: true,
            jumps_ahead: 1,
            jumps_back: 1,
            ..Self::new("hold", vec![request(1, HOLD), request(2, HOLD)])
        }
    }

    /// Somebody looks into an attempt and says what they found when another may have begun.
    pub(crate) fn stale_verdicts() -> Self {
        Self {
            name: "stale verdicts",
            stale_verdicts: true,
            renewals: false,
            jumps_ahead: 0,
            jumps_back: 0,
            requests: vec![request(1, HOLD)],
            ..Self::hold()
        }
    }

    /// A downstream that remembers a key for as long as was declared, and for as long as a call may
    /// take from its claim to its arrival, and for as long as the storage's clock may go back.
    pub(crate) fn rerun() -> Self {
        Self {
            sights: &[
                sight::COMPLETED,
                sight::UNKNOWN,
                sight::TAKEOVER,
                sight::ZOMBIE,
                sight::PURGED,
            ],
            downstream: Downstream::Remembers(Self::REMEMBERED + 1 + 1),
            delivery: Some(1),
            verdicts: 1,
            renewals: true,
            until: 4,
            retention: 4,
            jumps_back: 1,
            ..Self::new("rerun", vec![request(1, RERUN), request(2, RERUN)])
        }
    }

    /// Callers that declare different recoveries.
    pub(crate) fn mixed() -> Self {
        Self {
            sights: &[
                sight::COMPLETED,
                sight::UNKNOWN,
                sight::TAKEOVER,
                sight::ZOMBIE,
                sight::PURGED,
            ],
            downstream: Downstream::Remembers(3 + 1),
            delivery: Some(1),
            verdicts: 1,
            until: 4,
            ..Self::new(
                "mixed",
                vec![
                    request(1, RERUN),
                    request(1, Some(Recovery::Rerun(3))),
                    request(1, HOLD),
                    request(1, None),
                ],
            )
        }
    }

    /// Undoing and repeating, in leased mode.
    pub(crate) fn reopened() -> Self {
        Self {
            sights: &[
                sight::COMPLETED,
                sight::UNKNOWN,
                sight::PURGED,
                sight::AGAIN,
                sight::DECLINED,
            ],
            workers: 2,
            generations: 2,
            claims: 4,
            until: 5,
            verdicts: 1,
            declines: true,
            ..Self::new("reopened", vec![request(1, HOLD), request(2, HOLD)])
        }
    }

    /// Two keys for one place.
    pub(crate) fn place() -> Self {
        Self {
            sights: &[sight::COMPLETED, sight::UNKNOWN, sight::PURGED, sight::DECLINED],
            place: true,
            workers: 2,
            verdicts: 1,
            declines: true,
            retention: 2,
            until: 3,
            ..Self::new("place", vec![request(1, HOLD), other_key(HOLD), other_key(None)])
        }
    }
}

fn request(fingerprint: u8, recovery: Option<Recovery>) -> Request {
    Request {
        key: 0,
        fingerprint,
        recovery,
    }
}

fn other_key(recovery: Option<Recovery>) -> Request {
    Request {
        key: 1,
        fingerprint: 1,
        recovery,
    }
}

const HOLD: Option<Recovery> = Some(Recovery::Hold);
const RERUN: Option<Recovery> = Some(Recovery::Rerun(Setup::REMEMBERED));
