//! Binding what both drivers' statements take in the same places.

use idem_core::{Completion, Entry, OutcomeKind, RefusalReason, StoreClaim, millis};
use sqlx::{Database, Encode, Type, query::Query};

/// A database that takes the types we bind.
///
/// Whole numbers are bound as 64-bit integers: both engines convert them to their column's width.
pub(crate) trait Binds: Database {
    fn text<'q>(query: Bound<'q, Self>, value: Option<&str>) -> Bound<'q, Self>;
    fn bytes<'q>(query: Bound<'q, Self>, value: Option<&[u8]>) -> Bound<'q, Self>;
    fn int<'q>(query: Bound<'q, Self>, value: i64) -> Bound<'q, Self>;
}

pub(crate) type Bound<'q, DB> = Query<'q, DB, <DB as Database>::Arguments>;

impl<DB: Database> Binds for DB
where
    for<'t> Option<&'t str>: Encode<'t, DB> + Type<DB>,
    for<'t> Option<&'t [u8]>: Encode<'t, DB> + Type<DB>,
    for<'t> i64: Encode<'t, DB> + Type<DB>,
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
}

/// `$1` tenant, `$2` key, `$3` fingerprint, `$4` its version, `$5` owner, `$6` step, `$7` run,
/// `$8` retention in milliseconds, `$9` generation, `$10` attempt, `$11` place.
pub(crate) fn claim<'q, DB: Binds>(
    query: Bound<'q, DB>,
    claim: &StoreClaim,
    generation: u32,
    attempt: u32,
) -> Bound<'q, DB> {
    let StoreClaim { key, claim, place } = claim;
    let query = DB::text(query, Some(key.tenant().as_str()));
    let query = DB::text(query, Some(key.as_str()));
    let query = DB::bytes(query, Some(claim.fingerprint.as_bytes()));
    let query = DB::int(query, claim.fingerprint.version().into());
    let query = DB::bytes(query, Some(claim.owner.as_bytes()));
    let query = DB::text(query, claim.step_id.as_deref());
    let query = DB::text(query, claim.run_id.as_deref());
    let query = DB::int(query, millis(claim.retention));
    let query = DB::int(query, generation.into());
    let query = DB::int(query, attempt.into());
    DB::bytes(query, place.as_ref().map(|place| &place[..]))
}

/// `$1` tenant, `$2` key, `$3` generation, `$4` attempt, `$5` kind, `$6` slot, `$7` action,
/// `$8` fingerprint, `$9` its version, `$10` step, `$11` run, `$12` payload digest, `$13` outcome
/// digest, `$14` reason, `$15` place, `$16` commitment; of the detail `$17` subject, `$18` preimage,
/// `$19` basis, `$20` model, `$21` its version, `$22` prompt, `$23` snapshot, `$24` policy,
/// `$25` approver, `$26` salt.
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
    let query = DB::text(query, entry.reason.map(RefusalReason::as_str));
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
    DB::bytes(query, Some(detail.salt()))
}

/// After the entry: `$27` owner, `$28` outcome kind, `$29` outcome, `$30` its type, `$31` its codec.
pub(crate) fn completion<'q, DB: Binds>(query: Bound<'q, DB>, completion: &Completion) -> Bound<'q, DB> {
    let query = entry(query, &completion.entry);
    let outcome = &completion.outcome;
    let query = DB::bytes(query, Some(completion.owner.as_bytes()));
    let query = DB::int(query, outcome_kind(outcome.kind()));
    let query = DB::bytes(query, outcome.bytes());
    let query = DB::text(query, Some(outcome.type_tag()));
    DB::text(query, Some(outcome.codec()))
}

fn outcome_kind(kind: OutcomeKind) -> i64 {
    match kind {
        OutcomeKind::Success => 0,
        OutcomeKind::Declined => 1,
    }
}
