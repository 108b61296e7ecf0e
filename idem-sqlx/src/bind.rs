//! Binding what both drivers' statements take in the same places.

use idem_core::{
    Completion, Entry, IdempotencyKey, Outcome, OutcomeKind, Reason, Record, Recovery, Settlement, StoreClaim, millis,
};
use sqlx::{Database, Encode, Type, query::Query};

/// A database that takes the types we bind.
///
/// Whole numbers are bound as 64-bit integers: both engines convert them to their column's width.
pub(crate) trait Binds: Database {
    fn text<'q>(query: Bound<'q, Self>, value: Option<&str>) -> Bound<'q, Self>;
    fn bytes<'q>(query: Bound<'q, Self>, value: Option<&[u8]>) -> Bound<'q, Self>;
    fn int<'q>(query: Bound<'q, Self>, value: i64) -> Bound<'q, Self>;
    fn maybe_int<'q>(query: Bound<'q, Self>, value: Option<i64>) -> Bound<'q, Self>;
}

pub(crate) type Bound<'q, DB> = Query<'q, DB, <DB as Database>::Arguments>;

impl<DB: Database> Binds for DB
where
    for<'t> Option<&'t str>: Encode<'t, DB> + Type<DB>,
    for<'t> Option<&'t [u8]>: Encode<'t, DB> + Type<DB>,
    for<'t> i64: Encode<'t, DB> + Type<DB>,
    for<'t> Option<i64>: Encode<'t, DB> + Type<DB>,
{
    fn text<'q>(query: Bound<'q, Self>, value: Option<&str>) -> Bound<'q, Self> {
        query.bind(value)
    }

    fn bytes<'q>(query: Bound<'q, Self>, value: Option<&[u8]>) -> Bound<'q, Self> {
        query.bind(value)
    }

    fn int<'q>(query: Bound<'q, Self>, value: i64) -> Bound<'q, Self> {
        query.bind(value)
    }

    fn maybe_int<'q>(query: Bound<'q, Self>, value: Option<i64>) -> Bound<'q, Self> {
        query.bind(value)
    }
}

/// `$1` tenant, `$2` key, `$3` fingerprint, `$4` its version, `$5` owner, `$6` step, `$7` run,
/// `$8` how long the record is kept in milliseconds, `$9` generation, `$10` attempt, `$11` place, `$12` mode, `$13` lease in
/// milliseconds, `$14` recovery.
pub(crate) fn claim<'q, DB: Binds>(
    query: Bound<'q, DB>,
    claim: &StoreClaim,
    generation: u32,
    attempt: u32,
) -> Bound<'q, DB> {
    let StoreClaim { key, claim, place, .. } = claim;
    let query = DB::text(query, Some(key.tenant().as_str()));
    let query = DB::text(query, Some(key.as_str()));
    let query = DB::bytes(query, Some(claim.fingerprint.as_bytes()));
    let query = DB::int(query, claim.fingerprint.version().into());
    let query = DB::bytes(query, Some(claim.owner.as_bytes()));
    let query = DB::text(query, claim.step_id.as_deref());
    let query = DB::text(query, claim.run_id.as_deref());
    let query = DB::int(query, millis(claim.kept()));
    let query = DB::int(query, generation.into());
    let query = DB::int(query, attempt.into());
    let query = DB::bytes(query, place.as_ref().map(|place| &place[..]));
    let query = DB::int(query, claim.lease.is_some().into());
    let query = DB::maybe_int(query, claim.lease.map(|(lease, _)| millis(lease)));
    DB::maybe_int(query, claim.lease.map(|(_, recovery)| recovery_number(recovery)))
}

/// The number that stores keep: how long the downstream remembers, in milliseconds, or -1 to hold.
fn recovery_number(recovery: Recovery) -> i64 {
    match recovery {
        Recovery::Rerun { remembered_for } => millis(remembered_for),
        Recovery::Hold => -1,
    }
}

/// `$1` tenant, `$2` key, `$3` generation, `$4` attempt, `$5` kind, `$6` slot, `$7` action,
/// `$8` fingerprint, `$9` its version, `$10` step, `$11` run, `$12` payload digest, `$13` outcome
/// digest, `$14` reason, `$15` place, `$16` commitment; of the detail `$17` subject, `$18` preimage,
/// `$19` basis, `$20` model, `$21` its version, `$22` prompt, `$23` snapshot, `$24` policy,
/// `$25` approver, `$26` salt; `$27` references, `$28` whether it frees a place,
/// `$29` actor.
pub(crate) fn entry<'q, DB: Binds>(query: Bound<'q, DB>, entry: &Entry) -> Bound<'q, DB> {
    let query = DB::text(query, Some(entry.key.tenant().as_str()));
    let query = DB::text(query, Some(entry.key.as_str()));
    let query = DB::int(query, entry.generation.into());
    let query = DB::int(query, entry.attempt.into());
    let query = DB::text(query, Some(entry.kind.as_str()));
    let query = DB::text(query, Some(&entry.slot()));
    let query = DB::text(query, Some(&entry.action));
    let query = DB::bytes(query, Some(entry.fingerprint.as_bytes()));
    let query = DB::int(query, entry.fingerprint.version().into());
    let query = DB::text(query, entry.step_id.as_deref());
    let query = DB::text(query, entry.run_id.as_deref());
    let query = DB::bytes(query, Some(&entry.payload_digest));
    let query = DB::bytes(query, entry.outcome_digest.as_ref().map(|digest| &digest[..]));
    let query = DB::text(query, entry.reason.map(Reason::as_str));
    let query = DB::bytes(query, entry.place.as_ref().map(|place| &place[..]));
    let detail = &entry.detail;
    let basis = detail.columns();
    let query = DB::bytes(query, Some(detail.commitment()));
    let query = DB::text(query, detail.subject());
    let query = DB::text(query, Some(detail.preimage()));
    let query = DB::text(query, detail.basis());
    let query = DB::text(query, basis.map(|basis| basis.model.id()));
    let query = DB::text(query, basis.map(|basis| basis.model.version()));
    let query = DB::text(
        query,
        basis.map(|basis| basis.prompt_template_sha256.to_string()).as_deref(),
    );
    let query = DB::text(query, basis.and_then(|basis| basis.retrieval_snapshot_id.as_deref()));
    let query = DB::text(query, basis.map(|basis| &*basis.policy_version));
    let query = DB::text(query, basis.and_then(|basis| basis.approver.as_deref()));
    let query = DB::bytes(query, Some(detail.salt()));
    let query = DB::text(query, entry.references.as_deref());
    let query = DB::int(query, entry.frees_place.into());
    DB::text(query, entry.actor.as_deref())
}

/// After the entry: `$30` owner, `$31` outcome kind, `$32` outcome, `$33` its type, `$34` its codec,
/// `$35` how long the record is kept in milliseconds. Without an entry `$1` to `$4` are as there, and what follows comes [closer](without_entry).
pub(crate) fn completion<'q, DB: Binds>(query: Bound<'q, DB>, completion: &Completion) -> Bound<'q, DB> {
    let query = match &completion.entry {
        Some(of_ledger) => entry(query, of_ledger),
        None => {
            let query = DB::text(query, Some(completion.key.tenant().as_str()));
            let query = DB::text(query, Some(completion.key.as_str()));
            let query = DB::int(query, completion.generation.into());
            DB::int(query, completion.attempt.into())
        }
    };
    let query = DB::bytes(query, Some(completion.owner.as_bytes()));
    let query = outcome(query, Some(&completion.outcome));
    DB::int(query, millis(completion.retention))
}

/// A statement on a completion with the parameters of one that has no entry: `$30` to `$36` are `$5` to `$11`.
pub(crate) fn without_entry(template: &str) -> String {
    (30..=36).fold(template.to_owned(), |template, number| {
        template.replace(&format!("${number}"), &format!("${}", number - 25))
    })
}

/// Kind, bytes, type and codec.
fn outcome<'q, DB: Binds>(query: Bound<'q, DB>, outcome: Option<&Outcome>) -> Bound<'q, DB> {
    let query = DB::maybe_int(query, outcome.map(|outcome| outcome_kind(outcome.kind())));
    let query = DB::bytes(query, outcome.and_then(Outcome::bytes));
    let query = DB::text(query, outcome.map(Outcome::type_tag));
    DB::text(query, outcome.map(Outcome::codec))
}

/// `$1` tenant, `$2` key, `$3` owner; then `$4` lease or retention in milliseconds; of a
/// resolution `$5` outcome kind, `$6` outcome, `$7` its type, `$8` its codec, `$9` generation, `$10` attempt, `$11` its moment; of a
/// revocation or reopening `$5` the generation that was seen; of a reopening `$6` place.
pub(crate) fn settlement<'q, DB: Binds>(
    query: Bound<'q, DB>,
    key: &IdempotencyKey,
    event: &Settlement,
) -> Bound<'q, DB> {
    let query = DB::text(query, Some(key.tenant().as_str()));
    let query = DB::text(query, Some(key.as_str()));
    match event {
        Settlement::Fail { owner } => DB::bytes(query, Some(owner.as_bytes())),
        Settlement::Release { owner, retention: span } | Settlement::Renew { owner, lease: span } => {
            DB::int(DB::bytes(query, Some(owner.as_bytes())), millis(*span))
        }
        Settlement::Resolve {
            attempt,
            outcome: result,
            owner,
            retention,
        } => {
            let query = DB::int(DB::bytes(query, Some(owner.as_bytes())), millis(*retention));
            let query = outcome(query, result.as_ref());
            let query = DB::int(DB::int(query, attempt.generation.into()), attempt.attempt.into());
            DB::int(query, attempt.since.as_millis())
        }
        Settlement::Revoke {
            expected_generation,
            owner,
            retention,
        } => {
            let query = DB::int(DB::bytes(query, Some(owner.as_bytes())), millis(*retention));
            DB::int(query, (*expected_generation).into())
        }
        Settlement::Reopen {
            expected_generation,
            place,
            owner,
            retention,
        } => {
            let query = DB::int(DB::bytes(query, Some(owner.as_bytes())), millis(*retention));
            let query = DB::int(query, (*expected_generation).into());
            DB::bytes(query, place.as_ref().map(|place| &place[..]))
        }
    }
}

/// `$1` tenant, `$2` key, `$3` fingerprint, `$4` its version, `$5` recovery of the claimant, or NULL; of the
/// record that was seen `$6` its attempt, `$7` its generation, `$8` its owner.
pub(crate) fn hold<'q, DB: Binds>(query: Bound<'q, DB>, claim: &StoreClaim, seen: &Record) -> Bound<'q, DB> {
    let StoreClaim { key, claim, .. } = claim;
    let query = DB::text(query, Some(key.tenant().as_str()));
    let query = DB::text(query, Some(key.as_str()));
    let query = DB::bytes(query, Some(claim.fingerprint.as_bytes()));
    let query = DB::int(query, claim.fingerprint.version().into());
    let query = DB::maybe_int(query, claim.lease.map(|(_, recovery)| recovery_number(recovery)));
    let query = DB::int(query, seen.attempt.into());
    let query = DB::int(query, seen.generation.into());
    DB::bytes(query, Some(seen.owner.as_bytes()))
}

fn outcome_kind(kind: OutcomeKind) -> i64 {
    match kind {
        OutcomeKind::Success => 0,
        OutcomeKind::Declined => 1,
        OutcomeKind::Alias => 2,
    }
}
