//! The statements of the PostgreSQL store.

use sqlx::SqlStr;

use crate::bind;
use crate::names::Names;

/// Every statement with the table names filled in.
pub(super) struct Sql {
    pub(super) claim: SqlStr,
    pub(super) claim_without_place: SqlStr,
    pub(super) reclaim: SqlStr,
    pub(super) view: SqlStr,
    pub(super) view_without_place: SqlStr,
    pub(super) complete: SqlStr,
    pub(super) complete_without_place: SqlStr,
    pub(super) complete_without_entry: SqlStr,
    pub(super) append: SqlStr,
    pub(super) append_without_place: SqlStr,
    pub(super) hold: SqlStr,
    pub(super) renew: SqlStr,
    pub(super) fail: SqlStr,
    pub(super) release: SqlStr,
    pub(super) resolve: SqlStr,
    pub(super) revoke: SqlStr,
    pub(super) revoke_from_ledger: SqlStr,
    pub(super) reopen: SqlStr,
    pub(super) reopen_from_ledger: SqlStr,
    pub(super) origin: SqlStr,
    pub(super) open_claims: SqlStr,
    pub(super) purge: SqlStr,
}

impl Sql {
    /// With `advisory`, a running claim of the same key is told at once, by a transaction-level
    /// advisory lock taken in the statement that claims. The lock is a fast path: whether a claim is
    /// won is decided by the unique index.
    pub(super) fn new(names: &Names, advisory: bool, test_clock: bool) -> Self {
        let lock = if advisory {
            ADVISORY_LOCK
        } else {
            "($15::bigint IS NOT NULL)"
        };
        let fill = |template: &str| {
            let template = template
                .replace("{lock}", lock)
                .replace("{place_is_free}", PLACE_IS_FREE)
                .replace("{reopened_place_is_free}", REOPENED_PLACE_IS_FREE)
                .replace("{record_columns}", RECORD_COLUMNS)
                .replace("{replaced}", REPLACED)
                .replace("{expiry}", EXPIRY)
                .replace("{may_rerun}", MAY_RERUN)
                .replace("{completed}", COMPLETED)
                .replace("{columns}", COLUMNS)
                .replace("{values}", VALUES)
                .replace("{is_not_held}", IS_NOT_HELD)
                .replace("{held}", HELD)
                .replace("{freed}", FREED)
                .replace("{detail}", DETAIL);
            names.statement(&if test_clock { by_test_clock(&template) } else { template })
        };
        Self {
            claim: fill(CLAIM),
            claim_without_place: fill(&CLAIM.replace("{place_is_free}", "$11::bytea IS NULL")),
            reclaim: fill(RECLAIM),
            view: fill(&VIEW.replace("{place}", PLACE)),
            view_without_place: fill(&VIEW.replace("{place}", NO_PLACE)),
            complete: fill(COMPLETE),
            complete_without_place: fill(&COMPLETE.replace("{values}", VALUES_WITHOUT_PLACE)),
            complete_without_entry: fill(&bind::without_entry(COMPLETED)),
            append: fill(APPEND),
            append_without_place: fill(&APPEND.replace("{values}", VALUES_WITHOUT_PLACE)),
            hold: fill(HOLD),
            renew: fill(RENEW),
            fail: fill(FAIL),
            release: fill(RELEASE),
            resolve: fill(RESOLVE),
            revoke: fill(REVOKE),
            revoke_from_ledger: fill(REVOKE_FROM_LEDGER),
            reopen: fill(REOPEN),
            reopen_from_ledger: fill(REOPEN_FROM_LEDGER),
            origin: fill(ORIGIN),
            open_claims: fill(OPEN_CLAIMS),
            purge: fill(PURGE),
        }
    }
}

/// The same statement, by a clock that tests move.
fn by_test_clock(statement: &str) -> String {
    let clock = |now: &str| {
        format!("(SELECT coalesce(c.stopped_at, {now}) + c.ahead * interval '1 millisecond' FROM {{test_clock}} c)")
    };
    // In two steps, since what is put in contains what is looked for.
    statement
        .replace("statement_timestamp()", "{statement_now}")
        .replace("now()", &clock("now()"))
        .replace("{statement_now}", &clock("statement_timestamp()"))
}

/// Advisory locks belong to the whole database, so the table is mixed into the number of the key: the same key in another
/// schema, or under another prefix, has another lock. The name is resolved when the statement is parsed, as that of the
/// table which it inserts into is, and a prepared statement is parsed anew when `search_path` has changed since; so both
/// are always the same table, also where `on_begin` sets the path for each tenant on pooled connections.
const ADVISORY_LOCK: &str = "pg_try_advisory_xact_lock($15 # '{record}'::regclass::oid::bigint)";

/// A place is held by the entry with as many predecessors as were freed.
const PLACE_IS_FREE: &str = "($11::bytea IS NULL OR NOT EXISTS (
        SELECT 1 FROM {ledger} p
        WHERE p.tenant = $1 AND p.place = $11 AND p.idem_key <> $2 AND p.place_generation =
            (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $11)))";

/// Wins where there is neither a record nor an effect in the ledger. Returns the transaction, which
/// the completion compares: a claim that was committed by the effect itself is not completed.
///
/// The statement never updates: on a replay it takes no transaction id and writes no WAL.
const CLAIM: &str = "
WITH held AS MATERIALIZED (SELECT {lock} AS got)
INSERT INTO {record} (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    step_id, run_id, created_at, expires_at, lease_until, recovery, open_claim)
SELECT $1, $2, $3, $4, 0, $12, $5, $10, $9, $6, $7, now(), {expiry},
    now() + $13 * interval '1 millisecond', $14, CASE WHEN $12 = 0 THEN 1 END
FROM held
WHERE held.got
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} e
        WHERE e.tenant = $1 AND e.idem_key = $2
          AND (e.kind IN ('executed', 'revoked', 'aliased') AND e.generation >= $9 OR e.kind = 'reopened' AND e.generation > $9))
  AND {place_is_free}
ON CONFLICT (tenant, idem_key) DO NOTHING
RETURNING pg_current_xact_id()::text";

/// A claim with a lease does not expire. The epoch puts it at the head of the index of what has expired, where open claims
/// are found without an index of their own, which would cost every completion, also when the clock has gone back.
const EXPIRY: &str = "CASE WHEN $12 = 1 THEN 'epoch'::timestamptz ELSE now() + $8 * interval '1 millisecond' END";

/// Whether the lease of another attempt has ended and both recoveries let the next one run.
const MAY_RERUN: &str = "(r.recovery >= 0 AND $14 >= 0
        AND r.created_at + LEAST(r.recovery, $14) * interval '1 millisecond' > statement_timestamp())";

/// Takes over a record that counts as absent, says that nothing happened, or whose lease has ended, if
/// it is still the one that was seen: `$16` its status, `$17` its attempt, `$18` its generation, `$19`
/// its owner.
const RECLAIM: &str = "
WITH held AS MATERIALIZED (SELECT {lock} AS got)
UPDATE {record} r SET
    fingerprint = $3, fingerprint_version = $4, status = 0, mode = $12, owner_token = $5,
    recovery = CASE WHEN r.status = 0 THEN LEAST(r.recovery, $14) ELSE $14 END,
    lease_until = now() + $13 * interval '1 millisecond', open_claim = CASE WHEN $12 = 0 THEN 1 END,
    attempt = $10, generation = $9, step_id = $6, run_id = $7, outcome_kind = NULL, outcome = NULL, outcome_type = NULL,
    outcome_codec = NULL, created_at = CASE WHEN r.status = 0 THEN r.created_at ELSE now() END, completed_at = NULL,
    expires_at = {expiry}
FROM held
WHERE held.got
  AND r.tenant = $1 AND r.idem_key = $2
  AND r.status = $16 AND r.attempt = $17 AND r.generation = $18 AND r.owner_token = $19
  AND (r.status IN (1, 2, 4) AND r.expires_at <= statement_timestamp()
    OR r.status = 2 AND (r.generation = 1 OR r.fingerprint = $3 AND r.fingerprint_version = $4)
    OR r.status = 0 AND r.mode = 1 AND r.lease_until <= statement_timestamp()
        AND r.fingerprint = $3 AND r.fingerprint_version = $4 AND {may_rerun})
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} e
        WHERE e.tenant = $1 AND e.idem_key = $2
          AND (e.kind IN ('executed', 'revoked', 'aliased') AND e.generation >= $9 OR e.kind = 'reopened' AND e.generation > $9))
  AND {place_is_free}
RETURNING pg_current_xact_id()::text";

/// Where a lease has ended and no attempt may follow, the outcome becomes unknown.
const HOLD: &str = "
UPDATE {record} r SET status = 3, lease_until = NULL
WHERE r.tenant = $1 AND r.idem_key = $2 AND r.fingerprint = $3 AND r.fingerprint_version = $4
  AND r.status = 0 AND r.mode = 1 AND r.lease_until <= statement_timestamp()
  AND r.attempt = $6 AND r.generation = $7 AND r.owner_token = $8
  AND NOT coalesce(r.recovery >= 0 AND $5 >= 0
        AND r.created_at + LEAST(r.recovery, $5) * interval '1 millisecond' > statement_timestamp(), false)";

const RECORD_COLUMNS: &str = "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now,
    r.fingerprint, r.fingerprint_version::bigint, r.status::bigint, r.mode::bigint, r.recovery, r.owner_token,
    floor(extract(epoch FROM r.lease_until) * 1000)::bigint AS lease_until,
    r.attempt::bigint, r.generation::bigint, r.step_id, r.run_id,
    r.outcome_kind::bigint, r.outcome, r.outcome_type, r.outcome_codec,
    floor(extract(epoch FROM r.created_at) * 1000)::bigint AS created_at,
    floor(extract(epoch FROM r.completed_at) * 1000)::bigint AS completed_at,
    floor(extract(epoch FROM r.expires_at) * 1000)::bigint AS expires_at";

/// `$1` tenant, `$2` key, `$3` place.
const VIEW: &str = "
SELECT {record_columns},
    own.kind AS own_kind, own.fingerprint AS own_fingerprint, own.fingerprint_version::bigint AS own_fingerprint_version,
    own.idem_key AS own_key, own.generation::bigint AS own_generation, own.action AS own_action, own.step_id AS own_step_id,
    own.run_id AS own_run_id, CASE WHEN own.kind = 'aliased' THEN own.effect_references END AS own_references,
    floor(extract(epoch FROM own.recorded_at) * 1000)::bigint AS own_recorded_at,
    place.idem_key AS place_key, place.generation::bigint AS place_generation, place.action AS place_action,
    place.step_id AS place_step_id, place.run_id AS place_run_id,
    floor(extract(epoch FROM place.recorded_at) * 1000)::bigint AS place_recorded_at
FROM (SELECT 1) AS always
LEFT JOIN {record} r ON r.tenant = $1 AND r.idem_key = $2
LEFT JOIN LATERAL (
    SELECT * FROM {ledger} e
    WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind IN ('executed', 'revoked', 'reopened', 'aliased')
    ORDER BY e.generation DESC, e.seq DESC LIMIT 1) own ON true
{place}";

const PLACE: &str = "LEFT JOIN LATERAL (
    SELECT * FROM {ledger} p
    WHERE p.tenant = $1 AND p.place = $3 AND p.idem_key <> $2 AND p.place_generation =
        (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $3)) place ON true";

/// The same columns without a look: with one, PostgreSQL would plan every call anew, because a plan for the NULL at hand
/// looks cheaper than one for any place.
const NO_PLACE: &str = "LEFT JOIN {ledger} place ON $3::bytea IS NOT NULL AND false";

/// Completes the claim of this owner, made in this transaction if it is a transactional one (`$36`). The whole of the last
/// statement where there is no entry. When a transactional record expires was set by its claim, which could not know that
/// nothing would happen: a final error (`$31` is 1) has no tombstone.
const COMPLETED: &str = "
    UPDATE {record} SET status = 1, outcome_kind = $31, outcome = $32, outcome_type = $33, outcome_codec = $34, completed_at = now(),
        open_claim = NULL, lease_until = NULL, expires_at = CASE WHEN mode = 1 OR $31 = 1 THEN now() + $35 * interval '1 millisecond' ELSE expires_at END
    WHERE tenant = $1 AND idem_key = $2 AND status IN (0, 3) AND generation = $3 AND attempt = $4 AND owner_token = $30
      AND (mode = 1 OR pg_current_xact_id()::text = $36)";

/// The last statement before the commit. Writes three rows or, when the claim does not stand, none.
const COMPLETE: &str = "
WITH completed AS ({completed}
    RETURNING 1),
entry AS (
    INSERT INTO {ledger} ({columns})
    SELECT {values} FROM completed
    RETURNING seq)
{detail}";

const APPEND: &str = "
WITH entry AS (
    INSERT INTO {ledger} ({columns})
    SELECT {values}
    ON CONFLICT (tenant, idem_key, generation, kind, slot) DO NOTHING
    RETURNING seq)
{detail}";

const COLUMNS: &str = "tenant, idem_key, generation, attempt, kind, slot, action, fingerprint, fingerprint_version, step_id, run_id,
        payload_digest, outcome_digest, reason, place, place_generation, detail_commitment, effect_references, freed_place, actor, recorded_at";

/// A key holds one place at a time: that of its first attempt, also where a later one names another.
const IS_NOT_HELD: &str = "{held} IS NULL";

/// The values of an entry that neither takes nor frees a place. Without the subqueries PostgreSQL settles on a
/// generic plan; with them every call would be planned anew, which takes longer than to run it.
const VALUES_WITHOUT_PLACE: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
        $15::bytea, NULL::integer, $16, $27, CASE WHEN $28 = 1 THEN NULL::bytea END, $29, now()";

/// The place that the key holds.
const HELD: &str = "(SELECT h.place FROM {ledger} h
            WHERE h.tenant = $1 AND h.idem_key = $2 AND h.place IS NOT NULL AND h.place_generation =
                (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = h.place)
            ORDER BY h.seq DESC LIMIT 1)";

const FREED: &str = "(SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $15)";

/// A refusal says which place was asked for, and takes none.
const VALUES: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
        CASE WHEN $5 = 'refused' OR {is_not_held} THEN $15::bytea END,
        CASE WHEN $15 IS NOT NULL AND $5 <> 'refused' AND {is_not_held} THEN {freed} END,
        $16, $27, CASE WHEN $28 = 1 THEN {held} END, $29, now()";

const DETAIL: &str =
    "INSERT INTO {ledger_detail} (seq, tenant, subject, preimage, basis, model_id, model_version, prompt_sha256,
    snapshot_id, policy_version, approver, salt)
SELECT seq, $1, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26 FROM entry";

const RENEW: &str = "
UPDATE {record} SET lease_until = statement_timestamp() + $4 * interval '1 millisecond'
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status = 0 AND mode = 1
RETURNING status::bigint";

const FAIL: &str = "
UPDATE {record} SET status = CASE WHEN recovery >= 0 THEN 0 ELSE 3 END,
    lease_until = CASE WHEN recovery >= 0 THEN statement_timestamp() END
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status = 0
RETURNING status::bigint";

const RELEASE: &str = "
UPDATE {record} SET status = 2, lease_until = NULL, expires_at = now() + $4 * interval '1 millisecond'
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status IN (0, 3)
RETURNING status::bigint";

const RESOLVE: &str = "
UPDATE {record} SET status = CASE WHEN $5::bigint IS NULL THEN 2 ELSE 1 END, owner_token = $3, lease_until = NULL,
    outcome_kind = $5, outcome = $6, outcome_type = $7, outcome_codec = $8,
    completed_at = CASE WHEN $5::bigint IS NULL THEN NULL ELSE now() END, expires_at = now() + $4 * interval '1 millisecond'
WHERE tenant = $1 AND idem_key = $2 AND generation = $9 AND attempt = $10
  AND floor(extract(epoch FROM created_at) * 1000)::bigint = $11
  AND (status = 3 OR status = 0 AND (lease_until IS NULL OR lease_until <= statement_timestamp()))";

/// `$3` owner, `$4` retention in milliseconds, `$5` the generation that was seen.
const REVOKE: &str = "
UPDATE {record} SET status = 4, owner_token = $3, expires_at = now() + $4 * interval '1 millisecond'
WHERE tenant = $1 AND idem_key = $2 AND generation = $5 AND status = 1 AND outcome_kind = 0";

/// Where the record is gone or has expired.
const REVOKE_FROM_LEDGER: &str = "
INSERT INTO {record} AS r (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    created_at, expires_at)
SELECT $1, $2, e.fingerprint, e.fingerprint_version, 4, 0, $3, 0, e.generation, now(), now() + $4 * interval '1 millisecond'
FROM {ledger} e
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind = 'executed' AND e.generation = $5
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} n
        WHERE n.tenant = $1 AND n.idem_key = $2
          AND (n.kind = 'revoked' AND n.generation >= $5 OR n.kind IN ('executed', 'reopened') AND n.generation > $5))
ON CONFLICT (tenant, idem_key) DO UPDATE SET {replaced}
WHERE r.status IN (1, 2, 4) AND r.expires_at <= statement_timestamp()";

/// A record that is made of the ledger takes the place of one that has expired.
const REPLACED: &str = "
    fingerprint = EXCLUDED.fingerprint, fingerprint_version = EXCLUDED.fingerprint_version, status = EXCLUDED.status, mode = 0,
    owner_token = EXCLUDED.owner_token, attempt = 0, generation = EXCLUDED.generation, recovery = NULL, lease_until = NULL,
    step_id = NULL, run_id = NULL, outcome_kind = NULL, outcome = NULL, outcome_type = NULL, outcome_codec = NULL,
    created_at = EXCLUDED.created_at, completed_at = NULL, expires_at = EXCLUDED.expires_at";

/// No other key holds the place `$6` that the effect had.
const REOPENED_PLACE_IS_FREE: &str = "($6::bytea IS NULL OR NOT EXISTS (
        SELECT 1 FROM {ledger} p
        WHERE p.tenant = $1 AND p.place = $6 AND p.idem_key <> $2 AND p.place_generation =
            (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $6)))";

/// `$3` owner, `$4` retention in milliseconds, `$5` the generation that was seen revoked, `$6` place.
const REOPEN: &str = "
UPDATE {record} SET status = 2, generation = generation + 1, attempt = 0, owner_token = $3, recovery = NULL,
    lease_until = NULL, step_id = NULL, run_id = NULL, outcome_kind = NULL, outcome = NULL, outcome_type = NULL,
    outcome_codec = NULL, created_at = now(), completed_at = NULL, expires_at = now() + $4 * interval '1 millisecond'
WHERE tenant = $1 AND idem_key = $2 AND generation = $5 AND status = 4 AND expires_at > statement_timestamp()
  AND {reopened_place_is_free}";

/// Where the record is gone or has expired.
const REOPEN_FROM_LEDGER: &str = "
INSERT INTO {record} AS r (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    created_at, expires_at)
SELECT $1, $2, e.fingerprint, e.fingerprint_version, 2, 0, $3, 0, e.generation + 1, now(), now() + $4 * interval '1 millisecond'
FROM {ledger} e
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind = 'revoked' AND e.generation = $5
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} n
        WHERE n.tenant = $1 AND n.idem_key = $2 AND n.kind IN ('executed', 'revoked', 'reopened') AND n.generation > $5)
  AND {reopened_place_is_free}
ON CONFLICT (tenant, idem_key) DO UPDATE SET {replaced}
WHERE r.status IN (1, 2, 4) AND r.expires_at <= statement_timestamp()";

/// `$1` tenant, `$2` key: what the key asks for, as its newest attempt said.
const ORIGIN: &str = "
SELECT e.generation::bigint, e.attempt::bigint, e.kind, e.action, e.fingerprint, e.fingerprint_version::bigint, e.step_id, e.run_id,
    e.payload_digest, d.subject, d.preimage, d.basis,
    (SELECT h.place FROM {ledger} h
     WHERE h.tenant = $1 AND h.idem_key = $2 AND h.place IS NOT NULL AND h.kind IN ('intended', 'executed')
     ORDER BY h.seq DESC LIMIT 1) AS place
FROM {ledger} e LEFT JOIN {ledger_detail} d ON d.seq = e.seq
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind IN ('intended', 'executed', 'declined')
ORDER BY e.seq DESC LIMIT 1";

/// `$1` the least age in milliseconds, `$2` how many.
const OPEN_CLAIMS: &str = "
SELECT {record_columns}, r.idem_key
FROM {record} r
WHERE r.expires_at <= statement_timestamp() AND r.status IN (0, 3) AND r.mode = 1
  AND r.created_at <= statement_timestamp() - $1 * interval '1 millisecond'
ORDER BY r.created_at LIMIT $2";

/// `$1` how many.
const PURGE: &str = "
DELETE FROM {record} r
USING (SELECT tenant, idem_key FROM {record}
       WHERE expires_at <= statement_timestamp() AND status IN (1, 2, 4)
       ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED) x
WHERE r.tenant = x.tenant AND r.idem_key = x.idem_key AND r.status IN (1, 2, 4) AND r.expires_at <= statement_timestamp()";
