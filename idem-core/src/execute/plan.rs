//! What a change by hand asks of the store, and how its answer is told.

use super::ByHand;
use crate::canonical::{self, Mode};
use crate::codec::Kept;
use crate::error::{Error, ErrorKind};
use crate::key::{Fingerprint, IdempotencyKey};
use crate::ledger::{Detail, Entry, EntryKind, Reason};
use crate::record::{OwnerToken, Record};
use crate::state::{AttemptId, Reply, Settlement};
use crate::store::View;

/// One change, with the token that lets a store recognise it when it is sent again.
pub(super) enum Step {
    Resolve {
        attempt: AttemptId,
        outcome: Option<Kept>,
        owner: OwnerToken,
    },
    Revoke {
        expected_generation: u32,
        owner: OwnerToken,
    },
    Reopen {
        expected_generation: u32,
        owner: OwnerToken,
    },
}

pub(super) struct Plan {
    pub(super) event: Settlement,
    pub(super) entries: Vec<Entry>,
}

impl Step {
    pub(super) fn revoke(expected_generation: u32) -> Result<Self, Error> {
        Ok(Self::Revoke {
            expected_generation,
            owner: OwnerToken::random()?,
        })
    }

    pub(super) fn reopen(expected_generation: u32) -> Result<Self, Error> {
        Ok(Self::Reopen {
            expected_generation,
            owner: OwnerToken::random()?,
        })
    }

    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Resolve { .. } => "resolved",
            Self::Revoke { .. } => "revoked",
            Self::Reopen { .. } => "reopened",
        }
    }

    pub(super) fn answer(&self, key: &IdempotencyKey, reply: Reply) -> Result<(), Error> {
        match reply {
            Reply::Done => Ok(()),
            Reply::Refused(why) => Err(nothing(self.verb(), why)),
            Reply::PlaceTaken(holder) => {
                let message = format!(
                    "nothing was reopened: key {} holds the `once_per` place of key {}; revoke that one first",
                    holder.key,
                    key.short()
                );
                Err(Error::new(ErrorKind::AlreadyExecuted, message).with_entry(holder))
            }
            reply => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the store answered a change by hand of key {} with {reply:?}",
                    key.short()
                ),
            )),
        }
    }
}

impl<S> ByHand<'_, S> {
    /// The event and the entries that account for it, from what was seen. The event names the generation or attempt
    /// that was seen, so the store refuses it if another stands by then.
    pub(super) fn plan(
        &self,
        key: &IdempotencyKey,
        step: &Step,
        view: View,
        origin: Option<Entry>,
    ) -> Result<Plan, Error> {
        let retention = self.shared.settings.retention;
        let View { record, ledger, now } = view;
        let live = record.as_ref().filter(|record| !record.is_expired(now));
        let standing = ledger.own.as_ref();
        let fingerprint = live
            .map(|record| &record.fingerprint)
            .or(standing.map(|standing| &standing.fingerprint));
        let Some(fingerprint) = fingerprint else {
            return Err(nothing(
                step.verb(),
                "the ledger holds no effect of this key, and there is no record of it",
            ));
        };
        let entries = match &origin {
            Some(origin) => self.entries(key, step, live, fingerprint, origin)?,
            // The record of a call without ledger: it changes, and no entry could say of what.
            None if live.is_some() => Vec::new(),
            None => return Err(nothing(step.verb(), "the ledger does not tell what the key asks for")),
        };
        let event = match step {
            Step::Resolve {
                attempt,
                outcome,
                owner,
            } => Settlement::Resolve {
                attempt: *attempt,
                outcome: outcome.as_ref().map(|kept| kept.outcome.clone()),
                owner: *owner,
                retention,
            },
            Step::Revoke {
                expected_generation,
                owner,
            } => Settlement::Revoke {
                expected_generation: *expected_generation,
                owner: *owner,
                retention,
            },
            Step::Reopen {
                expected_generation,
                owner,
            } => Settlement::Reopen {
                expected_generation: *expected_generation,
                place: origin.and_then(|origin| origin.place),
                owner: *owner,
                retention,
            },
        };
        Ok(Plan { event, entries })
    }

    /// What accounts for a step; the rest of each entry is that of the attempt which it is about.
    fn entries(
        &self,
        key: &IdempotencyKey,
        step: &Step,
        live: Option<&Record>,
        fingerprint: &Fingerprint,
        origin: &Entry,
    ) -> Result<Vec<Entry>, Error> {
        let entry = |kind, generation, attempt| self.entry(origin, fingerprint, key, kind, generation, attempt);
        Ok(match step {
            Step::Resolve { attempt, outcome, .. } => {
                let mut resolved = entry(EntryKind::Resolved, attempt.generation, attempt.attempt)?;
                let Some(Kept { digest, .. }) = outcome else {
                    resolved.reason = Some(Reason::NothingHappened);
                    resolved.frees_place = true;
                    return Ok(vec![resolved]);
                };
                resolved.reason = Some(Reason::Happened);
                resolved.outcome_digest = *digest;
                let executed = Entry {
                    kind: EntryKind::Executed,
                    reason: None,
                    ..resolved.clone()
                };
                vec![resolved, executed]
            }
            Step::Revoke {
                expected_generation, ..
            } => {
                let attempt = live.map_or(origin.attempt, |record| record.attempt);
                let mut revoked = entry(EntryKind::Revoked, *expected_generation, attempt)?;
                revoked.frees_place = true;
                vec![revoked]
            }
            Step::Reopen {
                expected_generation, ..
            } => vec![entry(EntryKind::Reopened, expected_generation.saturating_add(1), 0)?],
        })
    }

    fn entry(
        &self,
        origin: &Entry,
        fingerprint: &Fingerprint,
        key: &IdempotencyKey,
        kind: EntryKind,
        generation: u32,
        attempt: u32,
    ) -> Result<Entry, Error> {
        let reason = canonical::to_vec(&serde_json::json!({ "reason": self.reason }), Mode::Fingerprint)
            .map_err(|source| Error::misuse("the reason cannot be kept", source))?;
        // A canonical form is UTF-8, so nothing is lost.
        let reason = String::from_utf8_lossy(&reason).into_owned();
        Ok(Entry {
            key: key.clone(),
            generation,
            attempt,
            kind,
            reason: None,
            fingerprint: fingerprint.clone(),
            outcome_digest: None,
            place: None,
            frees_place: false,
            actor: Some(self.actor.clone()),
            references: None,
            detail: Detail::new(
                origin.detail.subject().map(str::to_owned),
                origin.detail.preimage().to_owned(),
                Some(reason),
            )?,
            ..origin.clone()
        })
    }
}

pub(super) fn nothing(verb: &str, why: &str) -> Error {
    Error::new(ErrorKind::Misuse, format!("nothing was {verb}: {why}"))
}
