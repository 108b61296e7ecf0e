//! Under which key an effect is on record while a deploy changes how its key is derived.
//!
//! Builds with the former definition know the former key alone. Until the stated date an effect is therefore on record
//! under that one, with all that belongs to it, and the new key becomes its alias in the same step that claims it. From
//! then on calls claim the new key, and where that is an alias they follow it.
//!
//! | the process ends | what remains | the next attempt, of either build |
//! |---|---|---|
//! | before the claim is committed | nothing | runs, under either key |
//! | after it | the record under the former key, and the alias | finds that record, directly or by the alias |

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::key::{Derived, IdempotencyKey};

/// The keys under which one effect may be on record.
pub(crate) struct Identity {
    current: Derived,
    /// As it was derived before, if that is another key.
    previous: Option<Derived>,
    /// Whether builds with the former definition may still run.
    claims_both: bool,
    is_previous: AtomicBool,
    turns: AtomicU8,
}

impl Identity {
    pub(crate) fn new(current: Derived, previous: Option<Derived>, until: Option<Timestamp>) -> Self {
        let previous = previous.filter(|previous| previous.key != current.key);
        let claims_both = previous.is_some() && until.is_some_and(|until| Timestamp::of_this_host() < until);
        Self {
            current,
            previous,
            claims_both,
            is_previous: AtomicBool::new(claims_both),
            turns: AtomicU8::new(0),
        }
    }

    /// The one under which the call claims its effect.
    pub(crate) fn derived(&self) -> &Derived {
        match &self.previous {
            Some(previous) if self.is_previous.load(Ordering::Acquire) => previous,
            _ => &self.current,
        }
    }

    /// The one by which the input is known from the date on, whichever the effect is on record under.
    pub(crate) fn current(&self) -> &Derived {
        &self.current
    }

    /// The key that is to be claimed with the former one.
    pub(crate) fn alias(&self) -> Option<&Derived> {
        (self.claims_both && self.is_previous.load(Ordering::Acquire)).then_some(&self.current)
    }

    /// Goes on under `key`, where the effect is on record.
    pub(crate) fn turn_to(&self, key: &IdempotencyKey, action: &str) -> Result<(), Error> {
        let own = &self.derived().key;
        let is_previous = match &self.previous {
            _ if self.current.key == *key => false,
            Some(previous) if previous.key == *key => true,
            _ => {
                let message = format!(
                    "`{action}` under key {} is on record under key {}, which was made by an earlier definition of the key; nothing was run. Keep `previous = ..` and its `From` as they were",
                    own.short(),
                    key.as_str()
                );
                return Err(Error::new(ErrorKind::Misuse, message));
            }
        };
        if self.turns.fetch_add(1, Ordering::AcqRel) >= MOST_TURNS {
            let message = format!(
                "keys {} and {} of `{action}` each say that the effect is on record under the other",
                own.short(),
                key.short()
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        self.is_previous.store(is_previous, Ordering::Release);
        Ok(())
    }
}

/// There and back, and once more where records expired in between.
const MOST_TURNS: u8 = 4;
