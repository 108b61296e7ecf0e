//! What the model remembers: small copies of what is stored, and beside them what really happened.

use idem_core::{EntryKind, Mode, Status};

/// Who claims: chosen anew for each claim and each verdict.
pub(crate) type Token = u8;

/// Everything, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// The storage's clock.
    pub(crate) clock: i8,
    /// Real time, which the downstream lives by.
    pub(crate) real: i8,
    pub(crate) jumps_left: u8,
    pub(crate) back_left: u8,
    pub(crate) tokens: Token,
    pub(crate) verdicts: u8,
    /// What somebody has found out and not said yet: this attempt had no effect.
    pub(crate) note: Option<Note>,
    pub(crate) keys: Vec<Key>,
    pub(crate) ledger: Vec<Entry>,
    /// Sorted: workers are alike, so worlds that differ in their order alone are one.
    pub(crate) workers: Vec<Worker>,
    /// The rule that the last step broke.
    pub(crate) broken: Option<Rule>,
}

/// An attempt that somebody has looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Note {
    pub(crate) key: u8,
    pub(crate) generation: u8,
    pub(crate) attempt: u8,
    pub(crate) since: i8,
}

/// One key: its record, and the truth about its generations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) record: Option<Record>,
    /// Who owns the record by the rules, whatever the record says.
    pub(crate) owner: Token,
    pub(crate) generations: Vec<Generation>,
}

/// The truth about one generation of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Generation {
    /// How often the downstream had the effect.
    pub(crate) calls: u8,
    /// What the downstream remembers of the key.
    pub(crate) memory: Option<Memory>,
    /// How often the database had the effect.
    pub(crate) commits: u8,
    /// How often a record of the generation became completed with a success.
    pub(crate) completed: u8,
    /// The outcome that repeats get.
    pub(crate) outcome: Option<Outcome>,
    /// Attempts that nobody has accounted for: they may have reached the downstream.
    pub(crate) open: Vec<Open>,
    pub(crate) undone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    pub(crate) until: i8,
    pub(crate) fingerprint: u8,
    pub(crate) refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Open {
    pub(crate) token: Token,
    pub(crate) claimed_at: i8,
    pub(crate) recovery: Recovery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) fingerprint: u8,
    pub(crate) status: Status,
    pub(crate) mode: Mode,
    pub(crate) recovery: Option<Recovery>,
    pub(crate) owner: Token,
    pub(crate) lease_until: Option<i8>,
    pub(crate) attempt: u8,
    pub(crate) generation: u8,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) created_at: i8,
    pub(crate) expires_at: Option<i8>,
}

/// An outcome names the request it answers and the attempt that recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outcome {
    pub(crate) declined: bool,
    pub(crate) fingerprint: u8,
    pub(crate) author: Token,
}

/// What may follow the end of an attempt. Ticks stand for durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Recovery {
    Hold,
    Rerun(i8),
}

/// An entry of the ledger, with the columns that decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) key: u8,
    pub(crate) kind: EntryKind,
    pub(crate) generation: u8,
    /// Sets entries of one key, kind and generation apart.
    pub(crate) slot: u8,
    pub(crate) fingerprint: u8,
    pub(crate) takes_place: bool,
    pub(crate) frees_place: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Worker {
    pub(crate) phase: Phase,
    /// A call on its way to the downstream; it outlives whoever sent it.
    pub(crate) wire: Option<Attempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    Idle,
    /// The claim was sent and its answer lost.
    Claiming(Attempt),
    /// The claim is held, nothing was sent downstream.
    Running(Attempt),
    /// The call was sent; what the downstream answered, if it arrived. So it stays when the outcome was
    /// sent to the store and the answer lost.
    Sent(Attempt, Option<Answer>),
    /// Inside a transaction that holds the claim.
    Transaction(Attempt),
}

/// One attempt, as its worker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempt {
    pub(crate) request: Request,
    pub(crate) token: Token,
    pub(crate) generation: u8,
    /// Which attempt of its generation it is.
    pub(crate) number: u8,
    /// Whether an earlier attempt may have had the effect.
    pub(crate) took_over: bool,
    /// By the storage's clock, and in real time.
    pub(crate) claimed_at: i8,
    pub(crate) real_claimed_at: i8,
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Request {
    pub(crate) key: u8,
    pub(crate) fingerprint: u8,
    /// `None` in transactional mode.
    pub(crate) recovery: Option<Recovery>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answer {
    Done(u8),
    Refused,
}

/// What must never happen. The numbers are those of the invariants in the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// 1
    ExecutedTwice,
    /// 2
    EffectWithoutRecord,
    /// 3
    SecondCall,
    /// 3
    BesideAnother,
    /// 3
    BeyondHorizon,
    /// 4
    AfterTheEffect,
    /// 5
    ForeignOutcome,
    /// 6
    OutcomeChanged,
    /// 7
    StaleOwner,
    /// 7
    OwnerRefused,
    /// 8
    Resent,
    /// 8
    ChangedByRefusal,
    /// 9
    PlaceTwice,
    /// 10
    Unbound,
    /// 10
    Undone,
    /// 11
    NoEnd,
    /// A record of the protocol's own making was taken for corrupt.
    Illegal,
}
