//! The statements of the PostgreSQL store.

use sqlx::SqlStr;

use crate::names::Names;

/// Every statement with the table names filled in.
pub(super) struct Sql {
    pub(super) claim: SqlStr,
    pub(super) reclaim: SqlStr,
    pub(super) view: SqlStr,
    pub(super) complete: SqlStr,
    pub(super) refuse: SqlStr,
}

impl Sql {
    /// With `advisory`, a running claim of the same key is told at once, by a transaction-level
    /// advisory lock taken in the statement that claims. The lock is a fast path: whether a claim is
    /// won is decided by the unique index.
    pub(super) fn new(names: &Names, advisory: bool) -> Self {
        let lock = if advisory {
            "pg_try_advisory_xact_lock($12)"
        } else {
            "($12::bigint IS NOT NULL)"
        };
        let fill = |template: &str| {
            names.statement(
                &template
                    .replace("{lock}", lock)
                    .replace("{place_is_free}", PLACE_IS_FREE),
            )
        };
        Self {
            claim: fill(CLAIM),
            reclaim: fill(RECLAIM),
            view: fill(VIEW),
            complete: fill(COMPLETE),
            refuse: fill(REFUSE),
        }
    }
}

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
    step_id, run_id, created_at, expires_at)
SELECT $1, $2, $3, $4, 0, 0, $5, $10, $9, $6, $7, now(), now() + $8 * interval '1 millisecond'
FROM held
WHERE held.got
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} e
        WHERE e.tenant = $1 AND e.idem_key = $2
          AND (e.kind IN ('executed', 'revoked') AND e.generation >= $9 OR e.kind = 'reopened' AND e.generation > $9))
  AND {place_is_free}
ON CONFLICT (tenant, idem_key) DO NOTHING
RETURNING pg_current_xact_id()::text";

/// Takes over a record that counts as absent or says that nothing happened, if it is still the one
/// that was seen: `$13` its status, `$14` its attempt, `$15` its generation, `$16` its owner.
const RECLAIM: &str = "
WITH held AS MATERIALIZED (SELECT {lock} AS got)
UPDATE {record} r SET
    fingerprint = $3, fingerprint_version = $4, status = 0, mode = 0, recovery = NULL, owner_token = $5, lease_until = NULL,
    attempt = $10, generation = $9, step_id = $6, run_id = $7, outcome_kind = NULL, outcome = NULL, outcome_type = NULL,
    outcome_codec = NULL, created_at = now(), completed_at = NULL, expires_at = now() + $8 * interval '1 millisecond'
FROM held
WHERE held.got
  AND r.tenant = $1 AND r.idem_key = $2
  AND r.status = $13 AND r.attempt = $14 AND r.generation = $15 AND r.owner_token = $16
  AND (r.status IN (1, 2, 4) AND r.expires_at <= statement_timestamp()
    OR r.status = 2 AND (r.generation = 1 OR r.fingerprint = $3 AND r.fingerprint_version = $4))
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} e
        WHERE e.tenant = $1 AND e.idem_key = $2
          AND (e.kind IN ('executed', 'revoked') AND e.generation >= $9 OR e.kind = 'reopened' AND e.generation > $9))
  AND {place_is_free}
RETURNING pg_current_xact_id()::text";

/// `$1` tenant, `$2` key, `$3` place.
const VIEW: &str = "
SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now,
    r.fingerprint, r.fingerprint_version::bigint, r.status::bigint, r.mode::bigint, r.recovery, r.owner_token,
    floor(extract(epoch FROM r.lease_until) * 1000)::bigint AS lease_until,
    r.attempt::bigint, r.generation::bigint, r.step_id, r.run_id,
    r.outcome_kind::bigint, r.outcome, r.outcome_type, r.outcome_codec,
    floor(extract(epoch FROM r.created_at) * 1000)::bigint AS created_at,
    floor(extract(epoch FROM r.completed_at) * 1000)::bigint AS completed_at,
    floor(extract(epoch FROM r.expires_at) * 1000)::bigint AS expires_at,
    own.kind AS own_kind, own.fingerprint AS own_fingerprint, own.fingerprint_version::bigint AS own_fingerprint_version,
    own.idem_key AS own_key, own.generation::bigint AS own_generation, own.action AS own_action, own.step_id AS own_step_id,
    own.run_id AS own_run_id, floor(extract(epoch FROM own.recorded_at) * 1000)::bigint AS own_recorded_at,
    place.idem_key AS place_key, place.generation::bigint AS place_generation, place.action AS place_action,
    place.step_id AS place_step_id, place.run_id AS place_run_id,
    floor(extract(epoch FROM place.recorded_at) * 1000)::bigint AS place_recorded_at
FROM (SELECT 1) AS always
LEFT JOIN {record} r ON r.tenant = $1 AND r.idem_key = $2
LEFT JOIN LATERAL (
    SELECT * FROM {ledger} e
    WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind IN ('executed', 'revoked', 'reopened')
    ORDER BY e.generation DESC, e.seq DESC LIMIT 1) own ON true
LEFT JOIN LATERAL (
    SELECT * FROM {ledger} p
    WHERE p.tenant = $1 AND p.place = $3 AND p.idem_key <> $2 AND p.place_generation =
        (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $3)) place ON true";

/// The last statement before the commit. Writes three rows or, when the claim of this owner made in
/// this transaction (`$32`) does not stand, none.
const COMPLETE: &str = "
WITH completed AS (
    UPDATE {record} SET status = 1, outcome_kind = $28, outcome = $29, outcome_type = $30, outcome_codec = $31, completed_at = now()
    WHERE tenant = $1 AND idem_key = $2 AND status = 0 AND generation = $3 AND attempt = $4 AND owner_token = $27
      AND ($32::text IS NULL OR pg_current_xact_id()::text = $32)
    RETURNING 1),
entry AS (
    INSERT INTO {ledger} (tenant, idem_key, generation, attempt, kind, slot, action, fingerprint, fingerprint_version, step_id, run_id,
        payload_digest, outcome_digest, reason, place, place_generation, detail_commitment)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
        CASE WHEN $15::bytea IS NOT NULL THEN (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $15) END, $16
    FROM completed
    RETURNING seq)
INSERT INTO {ledger_detail} (seq, tenant, subject, preimage, basis, model_id, model_version, prompt_sha256, snapshot_id,
    policy_version, approver, salt)
SELECT seq, $1, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26 FROM entry";

const REFUSE: &str = "
WITH entry AS (
    INSERT INTO {ledger} (tenant, idem_key, generation, attempt, kind, slot, action, fingerprint, fingerprint_version, step_id, run_id,
        payload_digest, outcome_digest, reason, place, detail_commitment)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    ON CONFLICT (tenant, idem_key, generation, kind, slot) DO NOTHING
    RETURNING seq)
INSERT INTO {ledger_detail} (seq, tenant, subject, preimage, basis, model_id, model_version, prompt_sha256, snapshot_id,
    policy_version, approver, salt)
SELECT seq, $1, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26 FROM entry";
