//! The statements of the SQLite store.

use sqlx::SqlStr;

use crate::bind;
use crate::names::Names;

/// Every statement with the table names filled in.
pub(super) struct Sql {
    pub(super) claim: SqlStr,
    pub(super) reclaim: SqlStr,
    pub(super) record: SqlStr,
    pub(super) own: SqlStr,
    pub(super) place: SqlStr,
    pub(super) complete: SqlStr,
    pub(super) complete_without_entry: SqlStr,
    pub(super) append: SqlStr,
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
    pub(super) fn new(names: &Names, test_clock: bool) -> Self {
        let now = if test_clock { TEST_NOW } else { NOW };
        let fill = |template: &str| {
            names.statement(
                &template
                    .replace("{replaced}", REPLACED)
                    .replace("{expiry}", EXPIRY)
                    .replace("{reopened_place_is_free}", REOPENED_PLACE_IS_FREE)
                    .replace("{record_columns}", RECORD_COLUMNS)
                    .replace("{now}", now)
                    .replace("{host_now}", NOW)
                    .replace("{unless_done}", UNLESS_DONE)
                    .replace("{place_is_free}", PLACE_IS_FREE)
                    .replace("{is_not_held}", IS_NOT_HELD)
                    .replace("{held}", HELD)
                    .replace("{freed}", FREED),
            )
        };
        Self {
            claim: fill(CLAIM),
            reclaim: fill(RECLAIM),
            record: fill(RECORD),
            own: fill(OWN),
            place: fill(PLACE),
            complete: fill(&format!(
                "{};{}{CLOSE}",
                COMPLETE.replace("{closed}", ""),
                ENTRY.replace("{if}", "WHERE changes() = 1")
            )),
            complete_without_entry: fill(&bind::without_entry(
                &COMPLETE.replace("{closed}", "open_claim = NULL, "),
            )),
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
            append: fill(&ENTRY.replace(
                "{if}",
                "WHERE true ON CONFLICT (tenant, idem_key, generation, kind, slot) DO NOTHING",
            )),
        }
    }
}

/// The clock of the machine that holds the file, which is everybody's: SQLite has no network.
/// `unixepoch('subsec')` would need SQLite 3.42.
const NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)";

/// The clock that tests move.
const TEST_NOW: &str = "(SELECT coalesce(c.stopped_at, {host_now}) + c.ahead FROM {test_clock} c)";

const UNLESS_DONE: &str = "NOT EXISTS (
        SELECT 1 FROM {ledger} e
        WHERE e.tenant = $1 AND e.idem_key = $2
          AND (e.kind IN ('executed', 'revoked', 'aliased') AND e.generation >= $9 OR e.kind = 'reopened' AND e.generation > $9))";

/// A place is held by the entry with as many predecessors as were freed.
const PLACE_IS_FREE: &str = "($11 IS NULL OR NOT EXISTS (
        SELECT 1 FROM {ledger} p
        WHERE p.tenant = $1 AND p.place = $11 AND p.idem_key <> $2 AND p.place_generation =
            (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $11)))";

/// Wins where there is neither a record nor an effect in the ledger.
const CLAIM: &str = "
INSERT INTO {record} (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    step_id, run_id, created_at, expires_at, lease_until, recovery, open_claim)
SELECT $1, $2, $3, $4, 0, $12, $5, $10, $9, $6, $7, {now}, {expiry}, {now} + $13, $14, CASE WHEN $12 = 0 THEN 1 END
WHERE {unless_done} AND {place_is_free}
ON CONFLICT (tenant, idem_key) DO NOTHING";

/// A claim with a lease does not expire. The epoch puts it at the head of the index of what has expired, where open claims
/// are found without an index of their own, which would cost every completion, also when the clock has gone back.
const EXPIRY: &str = "CASE WHEN $12 = 1 THEN 0 ELSE {now} + $8 END";

/// Takes over a record that counts as absent, says that nothing happened, or whose lease has ended, if
/// it is still the one that was seen: `$15` its status, `$16` its attempt, `$17` its generation, `$18`
/// its owner.
const RECLAIM: &str = "
UPDATE {record} SET
    fingerprint = $3, fingerprint_version = $4, status = 0, mode = $12, owner_token = $5,
    recovery = CASE WHEN status = 0 THEN min(recovery, $14) ELSE $14 END, lease_until = {now} + $13,
    open_claim = CASE WHEN $12 = 0 THEN 1 END,
    attempt = $10, generation = $9, step_id = $6, run_id = $7, outcome_kind = NULL, outcome = NULL, outcome_type = NULL,
    outcome_codec = NULL, created_at = CASE WHEN status = 0 THEN created_at ELSE {now} END, completed_at = NULL,
    expires_at = {expiry}
WHERE tenant = $1 AND idem_key = $2
  AND status = $15 AND attempt = $16 AND generation = $17 AND owner_token = $18
  AND (status IN (1, 2, 4) AND expires_at <= {now}
    OR status = 2 AND (generation = 1 OR fingerprint = $3 AND fingerprint_version = $4)
    OR status = 0 AND mode = 1 AND lease_until <= {now} AND fingerprint = $3 AND fingerprint_version = $4
        AND recovery >= 0 AND $14 >= 0 AND created_at + min(recovery, $14) > {now})
  AND {unless_done} AND {place_is_free}";

/// Where a lease has ended and no attempt may follow, the outcome becomes unknown.
const HOLD: &str = "
UPDATE {record} SET status = 3, lease_until = NULL
WHERE tenant = $1 AND idem_key = $2 AND fingerprint = $3 AND fingerprint_version = $4
  AND status = 0 AND mode = 1 AND lease_until <= {now}
  AND attempt = $6 AND generation = $7 AND owner_token = $8
  AND NOT coalesce(recovery >= 0 AND $5 >= 0 AND created_at + min(recovery, $5) > {now}, 0)";

/// By name, and not all that there are: a later version may add columns under a running program, and the driver panics
/// where a prepared statement suddenly has more of them.
const RECORD_COLUMNS: &str = "{now} AS now, r.fingerprint, r.fingerprint_version, r.status, r.mode, r.recovery, r.owner_token,
    r.lease_until, r.attempt, r.generation, r.step_id, r.run_id, r.outcome_kind, r.outcome, r.outcome_type, r.outcome_codec,
    r.created_at, r.completed_at, r.expires_at";

/// `$1` tenant, `$2` key. One row, without a status where there is no record.
const RECORD: &str = "
SELECT {record_columns} FROM (SELECT 1) LEFT JOIN {record} r ON r.tenant = $1 AND r.idem_key = $2";

/// `$1` tenant, `$2` key: the newest fact about the key itself.
const OWN: &str = "
SELECT kind AS own_kind, fingerprint AS own_fingerprint, fingerprint_version AS own_fingerprint_version, idem_key AS own_key,
    generation AS own_generation, action AS own_action, step_id AS own_step_id, run_id AS own_run_id, recorded_at AS own_recorded_at,
    CASE WHEN kind = 'aliased' THEN effect_references END AS own_references
FROM {ledger} WHERE tenant = $1 AND idem_key = $2 AND kind IN ('executed', 'revoked', 'reopened', 'aliased')
ORDER BY generation DESC, seq DESC LIMIT 1";

/// `$1` tenant, `$2` key, `$3` place: who else holds the place.
const PLACE: &str = "
SELECT idem_key AS place_key, generation AS place_generation, action AS place_action, step_id AS place_step_id,
    run_id AS place_run_id, recorded_at AS place_recorded_at
FROM {ledger} p WHERE p.tenant = $1 AND p.place = $3 AND p.idem_key <> $2 AND p.place_generation =
    (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $3)";

/// The last statements before the commit, with the entry between `COMPLETE` and `CLOSE`. They write four
/// rows or none: each asks whether the one before it wrote. A caller who goes away stops them anywhere, so
/// the claim is closed by the last one; until then it cannot be committed. Without an entry the first is the only one, and
/// closes. When a transactional record expires was set by its claim, which could not know that nothing would happen: a
/// final error (`$31` is 1) has no tombstone.
const COMPLETE: &str = "
UPDATE {record} SET status = 1, outcome_kind = $31, outcome = $32, outcome_type = $33, outcome_codec = $34, completed_at = {now},
    {closed}lease_until = NULL, expires_at = CASE WHEN mode = 1 OR $31 = 1 THEN {now} + $35 ELSE expires_at END
WHERE tenant = $1 AND idem_key = $2 AND status IN (0, 3) AND generation = $3 AND attempt = $4 AND owner_token = $30";

const CLOSE: &str = ";
UPDATE {record} SET open_claim = NULL WHERE tenant = $1 AND idem_key = $2 AND owner_token = $30 AND changes() = 1";

/// An entry and its detail. A refusal says which place was asked for, and takes none.
const ENTRY: &str = "
INSERT INTO {ledger} (tenant, idem_key, generation, attempt, kind, slot, action, fingerprint, fingerprint_version, step_id, run_id,
    payload_digest, outcome_digest, reason, place, place_generation, detail_commitment, recorded_at, effect_references, freed_place, actor)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
    CASE WHEN $5 = 'refused' OR {is_not_held} THEN $15 END,
    CASE WHEN $15 IS NOT NULL AND $5 <> 'refused' AND {is_not_held} THEN {freed} END,
    $16, {now}, $27, CASE WHEN $28 = 1 THEN {held} END, $29
{if};
INSERT INTO {ledger_detail} (seq, tenant, subject, preimage, basis, model_id, model_version, prompt_sha256, snapshot_id,
    policy_version, approver, salt)
SELECT last_insert_rowid(), $1, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26 WHERE changes() = 1";

/// A key holds one place at a time: that of its first attempt, also where a later one names another.
const IS_NOT_HELD: &str = "{held} IS NULL";

/// The place that the key holds.
const HELD: &str = "(SELECT h.place FROM {ledger} h
        WHERE h.tenant = $1 AND h.idem_key = $2 AND h.place IS NOT NULL AND h.place_generation =
            (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = h.place)
        ORDER BY h.seq DESC LIMIT 1)";

const FREED: &str = "(SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $15)";

const RENEW: &str = "
UPDATE {record} SET lease_until = {now} + $4
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status = 0 AND mode = 1";

const FAIL: &str = "
UPDATE {record} SET status = CASE WHEN recovery >= 0 THEN 0 ELSE 3 END,
    lease_until = CASE WHEN recovery >= 0 THEN {now} END
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status = 0";

const RELEASE: &str = "
UPDATE {record} SET status = 2, lease_until = NULL, expires_at = {now} + $4
WHERE tenant = $1 AND idem_key = $2 AND owner_token = $3 AND status IN (0, 3)";

const RESOLVE: &str = "
UPDATE {record} SET status = CASE WHEN $5 IS NULL THEN 2 ELSE 1 END, owner_token = $3, lease_until = NULL,
    outcome_kind = $5, outcome = $6, outcome_type = $7, outcome_codec = $8,
    completed_at = CASE WHEN $5 IS NULL THEN NULL ELSE {now} END, expires_at = {now} + $4
WHERE tenant = $1 AND idem_key = $2 AND generation = $9 AND attempt = $10 AND created_at = $11
  AND (status = 3 OR status = 0 AND (lease_until IS NULL OR lease_until <= {now}))";

/// `$3` owner, `$4` retention in milliseconds, `$5` the generation that was seen.
const REVOKE: &str = "
UPDATE {record} SET status = 4, owner_token = $3, expires_at = {now} + $4
WHERE tenant = $1 AND idem_key = $2 AND generation = $5 AND status = 1 AND outcome_kind = 0";

/// Where the record is gone or has expired.
const REVOKE_FROM_LEDGER: &str = "
INSERT INTO {record} AS r (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    created_at, expires_at)
SELECT $1, $2, e.fingerprint, e.fingerprint_version, 4, 0, $3, 0, e.generation, {now}, {now} + $4
FROM {ledger} e
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind = 'executed' AND e.generation = $5
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} n
        WHERE n.tenant = $1 AND n.idem_key = $2
          AND (n.kind = 'revoked' AND n.generation >= $5 OR n.kind IN ('executed', 'reopened') AND n.generation > $5))
ON CONFLICT (tenant, idem_key) DO UPDATE SET {replaced}
WHERE r.status IN (1, 2, 4) AND r.expires_at <= {now}";

/// A record that is made of the ledger takes the place of one that has expired.
const REPLACED: &str = "
    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, status = excluded.status, mode = 0,
    owner_token = excluded.owner_token, attempt = 0, generation = excluded.generation, recovery = NULL, lease_until = NULL,
    step_id = NULL, run_id = NULL, outcome_kind = NULL, outcome = NULL, outcome_type = NULL, outcome_codec = NULL,
    created_at = excluded.created_at, completed_at = NULL, expires_at = excluded.expires_at";

/// No other key holds the place `$6` that the effect had.
const REOPENED_PLACE_IS_FREE: &str = "($6 IS NULL OR NOT EXISTS (
        SELECT 1 FROM {ledger} p
        WHERE p.tenant = $1 AND p.place = $6 AND p.idem_key <> $2 AND p.place_generation =
            (SELECT count(*) FROM {ledger} f WHERE f.tenant = $1 AND f.freed_place = $6)))";

/// `$3` owner, `$4` retention in milliseconds, `$5` the generation that was seen revoked, `$6` place.
const REOPEN: &str = "
UPDATE {record} SET status = 2, generation = generation + 1, attempt = 0, owner_token = $3, recovery = NULL,
    lease_until = NULL, step_id = NULL, run_id = NULL, outcome_kind = NULL, outcome = NULL, outcome_type = NULL,
    outcome_codec = NULL, created_at = {now}, completed_at = NULL, expires_at = {now} + $4
WHERE tenant = $1 AND idem_key = $2 AND generation = $5 AND status = 4 AND expires_at > {now}
  AND {reopened_place_is_free}";

/// Where the record is gone or has expired.
const REOPEN_FROM_LEDGER: &str = "
INSERT INTO {record} AS r (tenant, idem_key, fingerprint, fingerprint_version, status, mode, owner_token, attempt, generation,
    created_at, expires_at)
SELECT $1, $2, e.fingerprint, e.fingerprint_version, 2, 0, $3, 0, e.generation + 1, {now}, {now} + $4
FROM {ledger} e
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind = 'revoked' AND e.generation = $5
  AND NOT EXISTS (
        SELECT 1 FROM {ledger} n
        WHERE n.tenant = $1 AND n.idem_key = $2 AND n.kind IN ('executed', 'revoked', 'reopened') AND n.generation > $5)
  AND {reopened_place_is_free}
ON CONFLICT (tenant, idem_key) DO UPDATE SET {replaced}
WHERE r.status IN (1, 2, 4) AND r.expires_at <= {now}";

/// `$1` tenant, `$2` key: what the key asks for, as its newest attempt said.
const ORIGIN: &str = "
SELECT e.generation, e.attempt, e.kind, e.action, e.fingerprint, e.fingerprint_version, e.step_id, e.run_id,
    e.payload_digest, d.subject, d.preimage, d.basis,
    (SELECT h.place FROM {ledger} h
     WHERE h.tenant = $1 AND h.idem_key = $2 AND h.place IS NOT NULL AND h.kind IN ('intended', 'executed')
     ORDER BY h.seq DESC LIMIT 1) AS place
FROM {ledger} e LEFT JOIN {ledger_detail} d ON d.seq = e.seq
WHERE e.tenant = $1 AND e.idem_key = $2 AND e.kind IN ('intended', 'executed', 'declined')
ORDER BY e.seq DESC LIMIT 1";

/// `$1` the least age in milliseconds, `$2` how many.
const OPEN_CLAIMS: &str = "
SELECT {record_columns}, r.idem_key FROM {record} r
WHERE r.expires_at <= {now} AND r.status IN (0, 3) AND r.mode = 1 AND r.created_at <= {now} - $1
ORDER BY r.created_at LIMIT $2";

/// `$1` how many.
const PURGE: &str = "
DELETE FROM {record} WHERE (tenant, idem_key) IN (
    SELECT tenant, idem_key FROM {record}
    WHERE expires_at <= {now} AND status IN (1, 2, 4) ORDER BY expires_at LIMIT $1)";
