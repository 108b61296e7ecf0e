use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use super::attempt::attempt;
use super::identity::Identity;
use super::prepared::Prepared;
use super::retrying::Retrying;
use super::telemetry::span;
use super::watch::Watch;
use super::{Begun, Done, EffectError, ReadyCall, Shared, join, scope};
use crate::codec::{Keeper, Retain};
use crate::error::{Error, ErrorKind};
use crate::key::{
    Basis, Derived, FromCall, FromType, IdempotencyKey, Idempotent, IdempotentFields, Place, Tenant, TenantKnown,
};
use crate::store::{Store, TransactionalStore};

/// One call being described: what belongs to it beside its input, and how it ends.
///
/// Made by [`Idem::call`](super::Idem::call). Ends in [`transaction`](Self::transaction),
/// [`transaction_once`](Self::transaction_once), [`begin`](Self::begin) or [`join`](Self::join); for an outside effect in
/// [`run`](Self::run) or [`lease`](Self::lease).
#[must_use = "a call does nothing until it ends in `transaction`, `begin`, `join`, `run` or `lease`"]
pub struct Call<'a, S, I: ?Sized, Source = FromType> {
    shared: &'a Arc<Shared<S>>,
    input: &'a I,
    tenant: Option<&'a Tenant>,
    step_id: Option<String>,
    run_id: Option<String>,
    basis: Option<Basis>,
    wait: Duration,
    retention: Duration,
    retain: Retain,
    max_outcome_bytes: usize,
    probe: bool,
    detached: bool,
    place: Option<Place>,
    ledger: bool,
    tombstone: Option<Duration>,
    source: PhantomData<Source>,
}

impl<'a, S, I: IdempotentFields + ?Sized> Call<'a, S, I> {
    pub(super) fn new(shared: &'a Arc<Shared<S>>, input: &'a I) -> Self {
        Self {
            shared,
            input,
            tenant: None,
            step_id: None,
            run_id: None,
            basis: None,
            wait: shared.settings.wait,
            retention: shared.settings.retention,
            retain: shared.settings.retain,
            max_outcome_bytes: shared.settings.max_outcome_bytes,
            probe: shared.settings.probe,
            detached: false,
            place: None,
            ledger: true,
            tombstone: None,
            source: PhantomData,
        }
    }

    /// Says whose effect it is, where the input does not or where it must be checked against the
    /// caller's authentication: if the input names a tenant too, the two must be equal.
    pub fn tenant(self, tenant: &'a Tenant) -> Call<'a, S, I, FromCall> {
        Call {
            tenant: Some(tenant),
            shared: self.shared,
            input: self.input,
            step_id: self.step_id,
            run_id: self.run_id,
            basis: self.basis,
            wait: self.wait,
            retention: self.retention,
            retain: self.retain,
            max_outcome_bytes: self.max_outcome_bytes,
            probe: self.probe,
            detached: self.detached,
            place: self.place,
            ledger: self.ledger,
            tombstone: self.tombstone,
            source: PhantomData,
        }
    }
}

impl<'a, S, I: IdempotentFields + ?Sized, Source> Call<'a, S, I, Source> {
    /// Records the caller's step: which attempt of which plan this is. Not part of the key.
    ///
    /// At most 1024 bytes and without U+0000; so are the run and the subject.
    pub fn step_id(mut self, step_id: impl Into<String>) -> Self {
        self.step_id = Some(step_id.into());
        self
    }

    /// Records the caller's run. Not part of the key.
    pub fn run_id(mut self, run_id: impl Into<String>) -> Self {
        self.run_id = Some(run_id.into());
        self
    }

    /// Records on what basis it was decided, beside what the input marks as `#[basis]`. Not part of
    /// the key.
    pub fn basis(mut self, basis: Basis) -> Self {
        self.basis = Some(basis);
        self
    }

    /// Waits up to `wait` for a running attempt, then for its outcome, before answering that one is
    /// in flight. No connection is held meanwhile. Default: the setting of
    /// [`Settings::wait`](super::Settings::wait).
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Keeps the outcome this long. Default: the setting of
    /// [`Settings::retention`](super::Settings::retention).
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Keeps the outcome itself, or only its digest. Default: the setting of
    /// [`Settings::retain`](super::Settings::retain).
    pub fn retain(mut self, retain: Retain) -> Self {
        self.retain = retain;
        self
    }

    /// The largest outcome that is kept, in bytes as they are stored. Default: the setting of
    /// [`Settings::max_outcome_bytes`](super::Settings::max_outcome_bytes).
    pub fn max_outcome_bytes(mut self, max_outcome_bytes: usize) -> Self {
        self.max_outcome_bytes = max_outcome_bytes;
        self
    }

    /// Looks for a recorded outcome before the claim, or not. Default: the setting of
    /// [`Settings::probe`](super::Settings::probe).
    pub fn probe(mut self, probe: bool) -> Self {
        self.probe = probe;
        self
    }

    /// Says that the task which makes the call is one that nobody cancels, such as one of
    /// [`Idem::spawn`](super::Idem::spawn), so that [`lease`](Self::lease) needs none of its own: what it claims is left to
    /// the end of its lease if the call is dropped all the same, and its guard renews
    /// [when it is told to](super::LeasedGuard::renewal).
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    /// Lets the effect happen once for a place in the domain, whatever keys ask for it.
    ///
    /// Overrides what the input declares as `once_per`.
    pub fn once_per(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Keeps the record of this call alone: none of its attempts appends an entry to the ledger, whatever comes of it.
    /// Default: with the ledger.
    ///
    /// For effects that are many and that nobody has to account for. What the ledger gives is given up with it: when the
    /// record has expired ([`retention`](Self::retention)) the effect may run again, no entry says who was turned away, and
    /// a `once_per` place cannot be kept, so a call that has both is refused with kind [`Misuse`](ErrorKind::Misuse). A claim
    /// looks into the ledger all the same: what calls with the ledger have done under the key is not done again. And the
    /// alias that `previous = ..` makes of a key is still an entry, since it has to outlive the record that it leads to.
    pub fn without_ledger(mut self) -> Self {
        self.ledger = false;
        self
    }

    /// Lets the record of an effect that happened stand for so long after its [`retention`](Self::retention): repeats are not
    /// replayed then and do not run, but fail with kind [`AlreadyExecuted`](ErrorKind::AlreadyExecuted). Default: none.
    ///
    /// It is what a call [without ledger](Self::without_ledger) has for late repeats; with the ledger they are told for good,
    /// from its entries. A final error has no tombstone. The retention is that of the call which asks: of
    /// two calls with different ones each goes by its own, for as long as the record is there. The record keeps its outcome
    /// until it is purged.
    pub fn tombstone(mut self, tombstone: Duration) -> Self {
        self.tombstone = Some(tombstone);
        self
    }

    /// The key of this call, for instance for a column beside the effect.
    ///
    /// Of a type with `previous = ..` it is the previous key until the stated date.
    ///
    /// # Errors
    ///
    /// Fails with kind [`InvalidKey`](ErrorKind::InvalidKey), naming the field.
    pub fn key(&self) -> Result<IdempotencyKey, Error>
    where
        I: Idempotent + TenantKnown<Source>,
    {
        let (derived, previous) = self.derived()?;
        let identity = Identity::new(derived, previous, self.input.previous_until());
        Ok(identity.derived().key.clone())
    }

    /// What the input says of its effect, by its own definition and by the previous one.
    fn derived(&self) -> Result<(Derived, Option<Derived>), Error>
    where
        I: Idempotent,
    {
        let derived = self.input.derived(self.tenant).map_err(invalid_key)?;
        let previous = self.input.previous(self.tenant).map_err(|source| {
            let message = format!("no key can be made of the input by its previous definition: {source}");
            Error::new(ErrorKind::InvalidKey, message).with_source(source)
        })?;
        if let Some(previous) = &previous
            && previous.key.tenant() != derived.key.tenant()
        {
            let message = format!(
                "the previous definition of `{}` makes its key for tenant `{}`, this one for `{}`; a change of the tenant cannot be deployed by `previous`",
                self.input.action(),
                previous.key.tenant(),
                derived.key.tenant()
            );
            return Err(Error::new(ErrorKind::InvalidKey, message));
        }
        Ok((derived, previous))
    }

    /// Derives the key and checks the call, which goes on without its input.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`](ErrorKind::InvalidKey) and [`Misuse`](ErrorKind::Misuse); nothing ran.
    pub fn ready(self) -> Result<ReadyCall<S>, Error>
    where
        S: Store,
        I: Idempotent + TenantKnown<Source>,
    {
        scope::check_outside()?;
        let (shared, call) = self.prepare()?;
        Ok(ReadyCall::new(Arc::clone(shared), call))
    }

    /// Runs `effect` in one transaction with its claim, its outcome and its ledger entry.
    ///
    /// The first call under a key runs `effect` and commits all four together. Every repeat with the
    /// same fingerprint gets the recorded outcome without running it; a repeat with another one is
    /// refused. `effect` is run again from the start, in a new transaction, when the database undid
    /// it (serialisation failure, deadlock) and when the connection broke or the answer to COMMIT was
    /// lost; it must have no effect outside of its transaction. A final error ([`EffectError::final_`]) rolls it back and
    /// is recorded; any other error rolls it back and records nothing.
    ///
    /// # Errors
    ///
    /// - [`InvalidKey`](ErrorKind::InvalidKey): no key can be made of the input; nothing ran.
    /// - [`InFlight`](ErrorKind::InFlight): another attempt is running.
    /// - [`Mismatch`](ErrorKind::Mismatch), [`AlreadyExecuted`](ErrorKind::AlreadyExecuted),
    ///   [`Revoked`](ErrorKind::Revoked), [`OutcomeUnknown`](ErrorKind::OutcomeUnknown),
    ///   [`ResultUnavailable`](ErrorKind::ResultUnavailable): nothing ran, and nothing will.
    /// - [`Declined`](ErrorKind::Declined): the effect ended in a final error, now or before.
    /// - [`Effect`](ErrorKind::Effect): the effect failed; nothing was committed.
    /// - [`Misuse`](ErrorKind::Misuse): the effect ended the transaction itself, ignored an error
    ///   that aborted it, or asked for a second one.
    /// - [`LostClaim`](ErrorKind::LostClaim), [`Corrupt`](ErrorKind::Corrupt),
    ///   [`Schema`](ErrorKind::Schema), [`Store`](ErrorKind::Store): nothing was committed, except
    ///   that after a lost COMMIT only the next call can tell.
    ///
    /// # Cancel safety
    ///
    /// Until COMMIT is sent, dropping the future leaves neither effect nor record. From then on there
    /// are both or neither; the next call finds out. The pooled connection is clean in every case.
    pub async fn transaction<T, F>(self, effect: F) -> Result<Done<T>, Error>
    where
        S: TransactionalStore,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError> + Clone,
    {
        scope::check_outside()?;
        let (shared, call) = self.prepare()?;
        let run = async {
            let mut retrying = Retrying::new(&call);
            let result = loop {
                match attempt(shared, &call, effect.clone()).await {
                    Ok(done) => break Ok(done),
                    Err(error) => {
                        if let Err(error) = retrying.again(shared, &call, error, true).await {
                            break Err(error);
                        }
                    }
                }
            };
            call.watch.conclude(&result);
            result
        };
        run.instrument(call.watch.span()).await
    }

    /// As [`transaction`](Self::transaction), for an effect that can be called only once: where that
    /// would run it again, this returns a retryable error of kind [`Store`](ErrorKind::Store).
    ///
    /// # Errors
    ///
    /// As [`transaction`](Self::transaction).
    ///
    /// # Cancel safety
    ///
    /// As [`transaction`](Self::transaction).
    pub async fn transaction_once<T, F>(self, effect: F) -> Result<Done<T>, Error>
    where
        S: TransactionalStore,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError>,
    {
        scope::check_outside()?;
        let (shared, call) = self.prepare()?;
        let run = async {
            let mut retrying = Retrying::new(&call);
            let mut effect = Some(effect);
            let result = loop {
                // Waiting for another attempt does not use up the effect; running it does.
                let once = async |connection: &mut S::Connection| match effect.take() {
                    Some(effect) => effect(connection).await,
                    None => Err(EffectError::nothing_happened("the effect can be called only once")),
                };
                match attempt(shared, &call, once).await {
                    Ok(done) => break Ok(done),
                    Err(error) => {
                        if let Err(error) = retrying.again(shared, &call, error, effect.is_some()).await {
                            break Err(error);
                        }
                    }
                }
            };
            call.watch.conclude(&result);
            result
        };
        run.instrument(call.watch.span()).await
    }

    /// Claims the key and hands over the open transaction, for effects that do not fit a closure.
    ///
    /// The guard commits in [`Guard::complete`](super::Guard::complete); dropping it rolls everything back. It is not run
    /// again on a serialisation failure: that is a retryable error.
    ///
    /// # Errors
    ///
    /// As [`transaction`](Self::transaction), but for those of the effect.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing claimed.
    pub async fn begin<T>(self) -> Result<Begun<S, T>, Error>
    where
        S: TransactionalStore,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned,
    {
        self.ready()?.begin().await
    }

    /// Claims and runs `effect` inside the caller's open transaction.
    ///
    /// Everything stands or falls with that transaction: the answer, a refusal included, is
    /// provisional until the caller commits. Whether the claim is won or lost, and whether the effect
    /// fails, the transaction stays usable: the work is done under a savepoint. It never retries,
    /// and waits for no other attempt (on a `PgStore` without advisory locks, up to the `lock_timeout` of the
    /// caller's transaction). It is also the only form that may be used inside another effect.
    ///
    /// # Errors
    ///
    /// As [`transaction`](Self::transaction). [`Misuse`](ErrorKind::Misuse) when `connection` is in
    /// no transaction, and when the effect has ended the caller's: what came before it stands or is
    /// undone already, so give that transaction up. After a retryable error of kind [`Store`](ErrorKind::Store) the caller's whole
    /// transaction has to be run again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future rolls back to the savepoint. On PostgreSQL, if it is dropped while the savepoint
    /// is being released, the caller's transaction can only be rolled back.
    pub async fn join<T, F>(self, connection: &mut S::Connection, effect: F) -> Result<Done<T>, Error>
    where
        S: TransactionalStore,
        I: Idempotent + TenantKnown<Source>,
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut S::Connection) -> Result<T, EffectError>,
    {
        let (shared, call) = self.prepare()?;
        let result = join::join(shared, &call, connection, effect)
            .instrument(call.watch.span())
            .await;
        call.watch.conclude(&result);
        result
    }

    pub(super) fn prepare(self) -> Result<(&'a Arc<Shared<S>>, Prepared), Error>
    where
        S: Store,
        I: Idempotent,
    {
        let (mut derived, mut previous) = self.derived()?;
        if let Some(basis) = &self.basis {
            derived.add_basis(basis).map_err(invalid_key)?;
        }
        if self.place.is_some() {
            derived.place.clone_from(&self.place);
        }
        if let Some(previous) = &mut previous
            && (self.place.is_some() || previous.place.is_none())
        {
            previous.place.clone_from(&derived.place);
        }
        let identity = Identity::new(derived, previous, self.input.previous_until());
        let action = self.input.action();
        let observer = self.shared.settings.observer.as_ref();
        let call = Prepared {
            watch: Watch::new(span(action, &identity.derived().key), observer, action),
            identity,
            action: action.to_owned(),
            step_id: self.step_id,
            run_id: self.run_id,
            wait: self.wait,
            retention: self.retention,
            ledger: self.ledger,
            tombstone: self.tombstone,
            keeper: Keeper {
                retain: self.retain,
                limit: self.max_outcome_bytes,
                digests: self.ledger,
                ..self.shared.settings.keeper()
            },
            probe: self.probe,
            detached: self.detached,
            detail: OnceLock::new(),
        };
        call.check(self.shared)?;
        Ok((self.shared, call))
    }
}

fn invalid_key(source: crate::key::KeyError) -> Error {
    Error::new(
        ErrorKind::InvalidKey,
        format!("no key can be made of the input: {source}"),
    )
    .with_source(source)
}
