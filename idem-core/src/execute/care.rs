//! What has to be looked after: effects without an outcome, and records that have expired.

use std::time::Duration;

use serde_json::Value;

use super::prepared::LONGEST;
use super::{Idem, Resolution, scope};
use crate::error::Error;
use crate::key::IdempotencyKey;
use crate::ledger::Entry;
use crate::observe::tell;
use crate::record::Recovery;
use crate::state::{AttemptId, Status};
use crate::store::{OpenClaim, Store};

/// Why an outside effect has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StuckState {
    /// Its lease is being renewed: the attempt runs, or seems to.
    Running,
    /// Its lease has ended. The next call runs it again if its recovery allows; until then it may be resolved.
    LeaseEnded,
    /// Nothing runs until somebody has said what happened.
    Unknown,
}

/// An outside effect that has had no outcome for some time. Found by [`Idem::stuck`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stuck {
    /// The key; [`IdempotencyKey::downstream_key`] with the generation of the attempt is what the downstream knows.
    pub key: IdempotencyKey,
    /// The attempt that a [resolution](super::ByHand::resolve) has to name.
    pub attempt: AttemptId,
    /// Why it has no outcome.
    pub state: StuckState,
    /// The action, unless the store keeps no ledger.
    pub action: Option<String>,
    /// Whom or what it is about, where that was named and is not erased.
    pub subject: Option<String>,
    /// What the stored claim allows after the end of a lease.
    pub recovery: Option<Recovery>,
    /// How long ago the first attempt began, by the storage's clock.
    pub age: Duration,
    /// The caller's step.
    pub step_id: Option<String>,
    /// The caller's run.
    pub run_id: Option<String>,
}

/// What a [reconciliation](Idem::reconcile) came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciled {
    /// Effects whose outcome is known now.
    pub resolved: usize,
    /// Effects that nobody could tell anything about, or that changed meanwhile.
    pub left: usize,
}

impl<S: Store> Idem<S> {
    /// Lists the outside effects whose first attempt began longer ago than `older_than` and that have no outcome,
    /// the oldest first, `limit` at most.
    ///
    /// Every call that was accepted is completed or listed here. On a store with row-level security it needs a role that
    /// sees every tenant: it belongs to none.
    ///
    /// # Errors
    ///
    /// Kinds [`Store`](crate::ErrorKind::Store) and [`Corrupt`](crate::ErrorKind::Corrupt).
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn stuck(&self, older_than: Duration, limit: u32) -> Result<Vec<Stuck>, Error> {
        let mut stuck = Vec::new();
        for open in self.shared.store.open_claims(older_than.min(LONGEST), limit).await? {
            let origin = self.shared.store.origin(&open.key).await?;
            stuck.push(Stuck::new(open, origin));
        }
        Ok(stuck)
    }

    /// Counts the outside effects whose outcome is unknown and tells the [observer](super::Settings::observer) how many there
    /// are, and how long ago the first attempt of the oldest began. Returns the number. Call it every minute or so, in one
    /// process.
    ///
    /// Those whose lease has ended and that must not run again count, too: the next call finds them unknown. It looks at
    /// `limit` effects without an outcome at most, the oldest first; those that run are among them.
    ///
    /// # Errors
    ///
    /// As [`stuck`](Self::stuck).
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed.
    pub async fn observe_unknown(&self, limit: u32) -> Result<u64, Error> {
        let (mut count, mut oldest) = (0, None);
        for open in self.shared.store.open_claims(Duration::ZERO, limit).await? {
            let stuck = Stuck::new(open, None);
            let held = stuck.state == StuckState::LeaseEnded && stuck.recovery == Some(Recovery::Hold);
            if held || stuck.state == StuckState::Unknown {
                count += 1;
                oldest = oldest.max(Some(stuck.age));
            }
        }
        if let Some(observer) = &self.shared.settings.observer {
            tell(observer.as_ref(), |observer| observer.unknown(count, oldest));
        }
        Ok(count)
    }

    /// Asks `hook` about every outside effect that is [stuck](Self::stuck) and does not run any more, and records what it says,
    /// in the name of `actor`.
    ///
    /// The hook asks the downstream, by the downstream key or by a reference. `Ok(None)` means that it cannot tell; an
    /// error of the hook leaves that effect as it is, is logged, and the next one follows. It must answer
    /// [`DidNotHappen`](Resolution::DidNotHappen) only when the call cannot be on its way any more, so give `older_than` a
    /// margin over the time-outs of the call. The value of [`Happened`](Resolution::Happened) is what repeats get, so it has to be
    /// the JSON of the call's own result type.
    ///
    /// # Errors
    ///
    /// As [`stuck`](Self::stuck), and those of [`ByHand::resolve`](super::ByHand::resolve) when the storage fails.
    ///
    /// # Cancel safety
    ///
    /// What was resolved stays resolved.
    pub async fn reconcile<F, E>(
        &self,
        older_than: Duration,
        limit: u32,
        actor: &str,
        mut hook: F,
    ) -> Result<Reconciled, Error>
    where
        F: AsyncFnMut(&Stuck) -> Result<Option<Resolution<Value>>, E>,
        E: std::fmt::Display,
    {
        let by_hand = || self.by_hand(actor, "reconciled with the downstream");
        scope::check_by_hand()?;
        by_hand().check()?;
        let mut reconciled = Reconciled::default();
        for stuck in self.stuck(older_than, limit).await? {
            if stuck.state == StuckState::Running {
                reconciled.left += 1;
                continue;
            }
            let resolution = match hook(&stuck).await {
                Ok(Some(resolution)) => resolution,
                Ok(None) => {
                    reconciled.left += 1;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(key = stuck.key.short(), error = %error, "the downstream could not be asked");
                    reconciled.left += 1;
                    continue;
                }
            };
            match by_hand().resolve(&stuck.key, stuck.attempt, resolution).await {
                Ok(()) => reconciled.resolved += 1,
                // It changed while the downstream was asked; whatever stands now is looked at in the next run.
                Err(error) if error.kind() == crate::ErrorKind::Misuse => {
                    tracing::warn!(key = stuck.key.short(), error = %error, "what the downstream said was not recorded");
                    reconciled.left += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(reconciled)
    }

    /// Removes records that have expired, `batch` in each transaction, until none is left, and returns how many. The ledger
    /// keeps its entries, so a late repeat is still told that its effect was executed.
    ///
    /// Records in flight and unknown outcomes are never removed. Any number of processes may do it at once.
    ///
    /// # Errors
    ///
    /// Kind [`Misuse`](crate::ErrorKind::Misuse) when `batch` is zero or inside an effect, else [`Store`](crate::ErrorKind::Store); what was removed
    /// before stays removed.
    ///
    /// # Cancel safety
    ///
    /// The batch under way is removed or not.
    pub async fn purge_expired(&self, batch: u32) -> Result<u64, Error> {
        scope::check_purge()?;
        if batch == 0 {
            return Err(Error::new(
                crate::ErrorKind::Misuse,
                "a batch of zero records removes nothing; 5000 is a good size",
            ));
        }
        let mut removed = 0;
        loop {
            let gone = self.shared.store.purge(batch).await?;
            removed += gone;
            if let Some(observer) = &self.shared.settings.observer {
                tell(observer.as_ref(), |observer| observer.purged(gone));
            }
            if gone < u64::from(batch) {
                return Ok(removed);
            }
            tokio::task::yield_now().await;
        }
    }

    /// [Removes expired records](Self::purge_expired) for ever, with a pause of `period` between two rounds. Spawn it beside
    /// the service; a round that fails is logged, and the next one follows.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the task; the batch under way is removed or not.
    pub async fn purge_task(self, period: Duration, batch: u32) {
        loop {
            match self.purge_expired(batch.max(1)).await {
                Ok(removed) => tracing::debug!(removed, "expired records are removed"),
                Err(error) => tracing::warn!(error = %error, "expired records could not be removed"),
            }
            tokio::time::sleep(period).await;
        }
    }
}

impl Stuck {
    fn new(open: OpenClaim, origin: Option<Entry>) -> Self {
        let OpenClaim { key, record, now } = open;
        let state = match (record.status, record.lease_until) {
            (Status::InFlight, Some(end)) if end > now => StuckState::Running,
            (Status::InFlight, Some(_)) => StuckState::LeaseEnded,
            _ => StuckState::Unknown,
        };
        Self {
            key,
            attempt: record.attempt_id(),
            state,
            action: origin.as_ref().map(|origin| origin.action.clone()),
            subject: origin
                .as_ref()
                .and_then(|origin| origin.detail.subject().map(str::to_owned)),
            recovery: record.recovery,
            age: record.created_at.until(now),
            step_id: record.step_id,
            run_id: record.run_id,
        }
    }
}
