//! What one caller after another is told, in plain terms: written from the design, and of its own. It knows no records, no
//! tokens and no clock, and calls nothing of idem but the names of its errors and states.

use idem::ErrorKind;
use idem_core::Status;

/// Keys of one tenant. The first two ask for the same place, the third for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    A,
    B,
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    Succeeds,
    /// An error that says nothing of what happened.
    Fails,
    NothingHappened,
    /// A final error.
    Declines,
    Panics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    Hold,
    Rerun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Transaction,
    Leased(Recovery),
}

/// What is told of an attempt or a generation by somebody who looked at it, or at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Current,
    /// The one before, or where there is none the one after.
    Another,
}

#[derive(Clone, Debug)]
pub enum Act {
    /// A closure, with or without a look before.
    Call {
        key: Key,
        amount: u32,
        how: How,
        probe: bool,
        comes: Comes,
    },
    /// A guard, which is completed or dropped.
    Guard {
        key: Key,
        amount: u32,
        how: How,
        completed: bool,
    },
    Resolve {
        key: Key,
        attempt: Seen,
        happened: bool,
    },
    Revoke {
        key: Key,
        generation: Seen,
    },
    Reopen {
        key: Key,
        generation: Seen,
    },
    Purge,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Executed(u32),
    Replayed(u32),
    Declined(u32),
    /// Another key has the place.
    Taken(Key),
    Refused(ErrorKind),
    Panicked,
    Dropped,
    Done,
    Purged(u64),
}

/// What is to be seen of everything between two acts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// How often each effect ran.
    pub ran: [usize; 3],
    /// How many `executed` entries the ledger has of each key.
    pub executed: [usize; 3],
    /// Status and generation of each record.
    pub records: [Option<(Status, u32)>; 3],
    pub holder: Option<Key>,
}

#[derive(Default)]
pub struct Model {
    keys: [Intent; 3],
    holder: Option<Key>,
    ran: [usize; 3],
    executed: [usize; 3],
}

#[derive(Clone, Copy)]
struct Intent {
    stands: Stands,
    generation: u32,
    /// Of this generation. Transactions that roll back leave no trace of theirs.
    attempts: u32,
    /// The payload that a repeat has to have.
    bound: Option<u32>,
}

impl Default for Intent {
    fn default() -> Self {
        Self {
            stands: Stands::Nothing,
            generation: 1,
            attempts: 0,
            bound: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stands {
    /// No call has left anything.
    Nothing,
    /// Known not to have happened.
    Failed,
    /// An attempt ended without telling, and may be sent again.
    MayRerun,
    Unknown,
    Success(u32),
    Final(u32),
    Revoked,
}

impl Model {
    /// What `act`, the `number`th, is told. Effects return their number.
    pub fn act(&mut self, act: &Act, number: u32) -> Answer {
        match *act {
            Act::Call {
                key,
                amount,
                how,
                comes,
                ..
            } => match self.claim(key, amount, how) {
                Err(answer) => answer,
                Ok(attempt) => {
                    self.ran[key as usize] += 1;
                    match how {
                        How::Transaction => self.end_transaction(key, amount, attempt, comes, number),
                        How::Leased(recovery) => self.end_lease(key, amount, recovery, attempt, comes, number),
                    }
                }
            },
            Act::Guard {
                key,
                amount,
                how,
                completed,
            } => match (self.claim(key, amount, how), how) {
                (Err(answer), _) => answer,
                (Ok(attempt), _) if completed => {
                    self.ran[key as usize] += 1;
                    self.succeed(key, amount, attempt, number);
                    Answer::Executed(number)
                }
                (Ok(_), How::Transaction) => Answer::Dropped,
                // Whoever drops it may have sent the call.
                (Ok(attempt), How::Leased(recovery)) => {
                    self.open(key, amount, recovery, attempt);
                    Answer::Dropped
                }
            },
            Act::Resolve { key, attempt, happened } => {
                let intent = self.keys[key as usize];
                let open = matches!(intent.stands, Stands::Unknown | Stands::MayRerun);
                if !open || attempt == Seen::Another {
                    return Answer::Refused(ErrorKind::Misuse);
                }
                if happened {
                    self.keys[key as usize].stands = Stands::Success(number);
                    self.executed[key as usize] += 1;
                } else {
                    self.nothing_happened(key);
                }
                Answer::Done
            }
            Act::Revoke { key, generation } => {
                let happened = matches!(self.keys[key as usize].stands, Stands::Success(_));
                if !happened || generation == Seen::Another {
                    return Answer::Refused(ErrorKind::Misuse);
                }
                self.keys[key as usize].stands = Stands::Revoked;
                self.free(key);
                Answer::Done
            }
            Act::Reopen { key, generation } => {
                let intent = &mut self.keys[key as usize];
                if intent.stands != Stands::Revoked || generation == Seen::Another {
                    return Answer::Refused(ErrorKind::Misuse);
                }
                if let Some(holder) = self.holder.filter(|_| wants_place(key)) {
                    return Answer::Taken(holder);
                }
                intent.stands = Stands::Failed;
                intent.generation += 1;
                intent.attempts = 0;
                Answer::Done
            }
            // Nothing has expired.
            Act::Purge => Answer::Purged(0),
        }
    }

    /// The number of the attempt that may run, or what the caller is told instead.
    fn claim(&mut self, key: Key, amount: u32, how: How) -> Result<u32, Answer> {
        let intent = &mut self.keys[key as usize];
        let binds = !(intent.stands == Stands::Failed && intent.generation == 1);
        if binds && intent.bound.is_some_and(|bound| bound != amount) {
            return Err(Answer::Refused(ErrorKind::Mismatch));
        }
        match intent.stands {
            Stands::Success(number) => return Err(Answer::Replayed(number)),
            Stands::Final(number) => return Err(Answer::Declined(number)),
            Stands::Unknown => return Err(Answer::Refused(ErrorKind::OutcomeUnknown)),
            Stands::Revoked => return Err(Answer::Refused(ErrorKind::Revoked)),
            Stands::MayRerun if how != How::Leased(Recovery::Rerun) => {
                // The stricter of what was declared then and now. A transaction that is turned away is rolled back, so
                // what it found stays: a caller who may repeat the outside effect still may.
                if how != How::Transaction {
                    intent.stands = Stands::Unknown;
                }
                return Err(Answer::Refused(ErrorKind::OutcomeUnknown));
            }
            Stands::Nothing | Stands::Failed | Stands::MayRerun => {}
        }
        match self.holder {
            Some(holder) if wants_place(key) && holder != key => Err(Answer::Taken(holder)),
            _ => Ok(intent.attempts + 1),
        }
    }

    fn end_transaction(&mut self, key: Key, amount: u32, attempt: u32, comes: Comes, number: u32) -> Answer {
        match comes {
            Comes::Succeeds => {
                self.succeed(key, amount, attempt, number);
                Answer::Executed(number)
            }
            Comes::Fails | Comes::NothingHappened => Answer::Refused(ErrorKind::Effect),
            Comes::Declines => {
                self.record(key, amount, attempt, Stands::Final(number));
                Answer::Declined(number)
            }
            Comes::Panics => Answer::Panicked,
        }
    }

    fn end_lease(
        &mut self,
        key: Key,
        amount: u32,
        recovery: Recovery,
        attempt: u32,
        comes: Comes,
        number: u32,
    ) -> Answer {
        match comes {
            Comes::Succeeds => {
                self.succeed(key, amount, attempt, number);
                Answer::Executed(number)
            }
            Comes::Declines => {
                self.record(key, amount, attempt, Stands::Final(number));
                self.free(key);
                Answer::Declined(number)
            }
            // An attempt that has taken over cannot speak for the one before.
            Comes::NothingHappened if self.keys[key as usize].stands != Stands::MayRerun => {
                self.record(key, amount, attempt, Stands::Failed);
                self.nothing_happened(key);
                Answer::Refused(ErrorKind::Effect)
            }
            Comes::Fails | Comes::Panics | Comes::NothingHappened => self.open(key, amount, recovery, attempt),
        }
    }

    /// It is not known whether the attempt had its effect.
    fn open(&mut self, key: Key, amount: u32, recovery: Recovery, attempt: u32) -> Answer {
        let (stands, told) = match recovery {
            Recovery::Hold => (Stands::Unknown, ErrorKind::OutcomeUnknown),
            Recovery::Rerun => (Stands::MayRerun, ErrorKind::Effect),
        };
        self.record(key, amount, attempt, stands);
        self.take(key);
        Answer::Refused(told)
    }

    fn succeed(&mut self, key: Key, amount: u32, attempt: u32, number: u32) {
        self.record(key, amount, attempt, Stands::Success(number));
        self.executed[key as usize] += 1;
        self.take(key);
    }

    fn record(&mut self, key: Key, amount: u32, attempt: u32, stands: Stands) {
        let intent = &mut self.keys[key as usize];
        intent.stands = stands;
        intent.attempts = attempt;
        intent.bound = Some(amount);
    }

    fn nothing_happened(&mut self, key: Key) {
        self.keys[key as usize].stands = Stands::Failed;
        self.free(key);
    }

    fn take(&mut self, key: Key) {
        if wants_place(key) {
            self.holder = Some(key);
        }
    }

    fn free(&mut self, key: Key) {
        if self.holder == Some(key) {
            self.holder = None;
        }
    }

    pub fn generation(&self, key: Key) -> u32 {
        self.keys[key as usize].generation
    }

    pub fn sight(&self) -> Sight {
        let record = |intent: Intent| {
            let status = match intent.stands {
                Stands::Nothing => return None,
                Stands::Failed => Status::Failed,
                Stands::MayRerun => Status::InFlight,
                Stands::Unknown => Status::Unknown,
                Stands::Success(_) | Stands::Final(_) => Status::Completed,
                Stands::Revoked => Status::Revoked,
            };
            Some((status, intent.generation))
        };
        Sight {
            ran: self.ran,
            executed: self.executed,
            records: self.keys.map(record),
            holder: self.holder,
        }
    }
}

pub fn wants_place(key: Key) -> bool {
    key != Key::C
}
