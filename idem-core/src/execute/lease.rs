//! A claim that is committed before its effect, and kept alive while that runs.
//!
//! | the process ends | what remains | the next attempt |
//! |---|---|---|
//! | before the claim is committed | nothing | runs |
//! | after the claim, before the call goes out | claim and `intended` entry | after the lease: `Rerun` within its horizon runs with the same downstream key, else unknown |
//! | after the call went out | the same; the effect may have happened | the same |
//! | after the acknowledgement, before the completion is committed | the same; the effect happened | the same: the downstream knows the key |
//! | after the completion, before the answer | everything | replays |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Shared;
use super::effect::Effect;
use super::prepared::{Prepared, Won};
use super::registry::Called;
use super::telemetry::{durable, point};
use crate::clock::Deadline;
use crate::codec::Kept;
use crate::error::Error;
use crate::key::IdempotencyKey;
use crate::ledger::EntryKind;
use crate::observe::Conclusion;
use crate::record::{OwnerToken, Recovery};
use crate::state::{Reply, Settlement};
use crate::store::{Completed, Store, StoreClaim};

/// A won claim with its lease.
pub(crate) struct Held {
    pub(crate) attempt: Attempt,
    pub(crate) lease: Lease,
    _called: Option<Called>,
}

/// A claim that was won, and where.
#[derive(Clone)]
pub(crate) struct Attempt {
    pub(crate) claim: StoreClaim,
    pub(crate) won: Won,
    took_over: bool,
}

/// How a lease stands, as far as this process knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// When it ends at the latest by this process's clock: counted from before the claim or the renewal
    /// was sent, so it is never later than the storage's own end.
    pub(crate) deadline: Deadline,
    refused: bool,
}

impl Standing {
    pub(crate) fn is_lost(&self) -> bool {
        self.refused || self.deadline.left().is_zero()
    }
}

/// What renews a claim.
#[derive(Clone)]
pub(crate) struct Lease {
    key: IdempotencyKey,
    owner: OwnerToken,
    length: Duration,
    standing: Arc<watch::Sender<Standing>>,
}

/// Claims with a lease; the reply if the claim was not won.
pub(crate) async fn claim<S: Store>(
    shared: &Shared<S>,
    call: &Prepared,
    recovery: Recovery,
    called: Option<Called>,
) -> Result<Result<Held, Reply>, Error> {
    let length = shared.settings.lease;
    let (claim, deadline, reply) = loop {
        let claim = call.leased_claim(length, recovery)?;
        let intended = call.intended()?.map(Box::new);
        let deadline = Deadline::after(length);
        match shared.store.claim(&claim, intended.as_deref()).await? {
            Reply::Aliased(key) => call.turn_to(&key)?,
            reply => break (claim, deadline, reply),
        }
    };
    match reply {
        Reply::Claimed {
            generation,
            attempt,
            took_over,
        } => {
            point("claimed");
            if let Some(called) = &called {
                called.runs();
            }
            let standing = Arc::new(watch::Sender::new(Standing {
                deadline,
                refused: false,
            }));
            let lease = Lease {
                key: claim.key.clone(),
                owner: claim.claim.owner,
                length,
                standing,
            };
            Ok(Ok(Held {
                attempt: Attempt {
                    claim,
                    won: Won { generation, attempt },
                    took_over,
                },
                lease,
                _called: called,
            }))
        }
        reply => Ok(Err(reply)),
    }
}

impl Lease {
    /// Renews at a third of the length until a renewal is refused or this is dropped. Never returns.
    ///
    /// # Cancel safety
    ///
    /// A renewal under way takes effect or not.
    pub(crate) async fn keep_alive<S: Store>(self, shared: Arc<Shared<S>>) -> Infallible {
        loop {
            tokio::time::sleep(self.length / 3).await;
            let deadline = Deadline::after(self.length);
            let renew = Settlement::Renew {
                owner: self.owner,
                lease: self.length,
            };
            // A storage that does not answer must not keep the end of the lease from the effect. After a
            // stop of the process the lease may have ended and still be renewed.
            let patience = self.standing.borrow().deadline.left().max(self.length / 3);
            match tokio::time::timeout(patience, shared.store.settle(&self.key, &renew, &[])).await {
                Ok(Ok(Reply::Done)) => drop(self.standing.send_replace(Standing {
                    deadline,
                    refused: false,
                })),
                Ok(Ok(_)) | Err(_) => break,
                // The storage may be back before the lease ends.
                Ok(Err(error)) => {
                    tracing::warn!(key = self.key.short(), error = %error, "a lease could not be renewed");
                    if self.standing.borrow().is_lost() {
                        break;
                    }
                }
            }
        }
        self.standing.send_modify(|standing| standing.refused = true);
        std::future::pending().await
    }
}

impl Held {
    pub(crate) fn effect(&self) -> Effect {
        let Attempt { claim, won, .. } = &self.attempt;
        Effect::new(
            claim.key.clone(),
            won.generation,
            won.attempt,
            self.lease.standing.subscribe(),
        )
    }
}

impl Attempt {
    fn owner(&self) -> OwnerToken {
        self.claim.claim.owner
    }

    /// Whether no earlier attempt can have had the effect when this one had not. An attempt that may have
    /// taken over from another knows nothing of that one's call: were the record released, its horizon
    /// would be counted anew, beyond what the downstream remembers, and another payload could get its outcome.
    pub(crate) fn vouches_for_all(&self) -> bool {
        !self.took_over
    }

    /// Records an outcome. A store failure never releases the claim: this tries again for as long as
    /// another lease would last.
    pub(crate) async fn complete<S: Store>(
        &self,
        shared: &Shared<S>,
        call: &Prepared,
        effect: &Effect,
        kept: Kept,
    ) -> Result<Completed, Error> {
        let completion = call.leased_completion(self, effect, kept)?;
        let give_up = Deadline::after(shared.settings.lease);
        let mut pause = Duration::from_millis(20);
        loop {
            match shared.store.complete(&completion).await {
                Ok(Completed::Done) => {
                    durable("completed");
                    return Ok(Completed::Done);
                }
                Ok(refused) => return Ok(refused),
                Err(error) if !error.is_retryable() || give_up.left().is_zero() => return Err(error),
                Err(_) => {
                    tokio::time::sleep(pause).await;
                    pause = (2 * pause).min(Duration::from_secs(1));
                }
            }
        }
    }

    /// Says that it is not known whether the effect happened.
    pub(crate) async fn fail<S: Store>(&self, shared: &Shared<S>, call: &Prepared) -> Result<Reply, Error> {
        let entry = call.kept_entry(EntryKind::Unknown, self.won)?;
        shared
            .store
            .settle(
                &self.claim.key,
                &Settlement::Fail { owner: self.owner() },
                entry.as_slice(),
            )
            .await
    }

    /// Says that nothing happened.
    ///
    /// Only for an attempt that [vouches for all](Self::vouches_for_all).
    pub(crate) async fn release<S: Store>(&self, shared: &Shared<S>, call: &Prepared) -> Result<Reply, Error> {
        let release = Settlement::Release {
            owner: self.owner(),
            retention: self.claim.claim.retention,
        };
        let entry = call.nothing_happened(self.won)?;
        shared.store.settle(&self.claim.key, &release, entry.as_slice()).await
    }
}

/// Says in a task of its own that the outcome is unknown: for destructors, which cannot wait.
pub(crate) fn fail_later<S: Store>(shared: Arc<Shared<S>>, call: Arc<Prepared>, held: Held) {
    // Without a runtime nobody can be told; the lease ends by itself.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let token = shared.tracker.token();
        runtime.spawn(async move {
            let _token = token;
            call.watch.conclude_as(match held.attempt.fail(&shared, &call).await {
                // The next attempt may run at once.
                Ok(Reply::Done) => Conclusion::Failed,
                Ok(_) => Conclusion::Unknown,
                Err(error) => {
                    tracing::warn!(key = call.key().short(), error = %error, "an abandoned claim is left to the end of its lease");
                    Conclusion::Unknown
                }
            });
        });
    }
}
