-- Nothing is ever in here. A claim refers to it until its outcome is recorded, and the reference is checked at COMMIT: so
-- a claim cannot be committed without its outcome, whoever sends the COMMIT (while `foreign_keys` is on, as it is by
-- default in sqlx).
CREATE TABLE {never} (id INTEGER PRIMARY KEY CHECK (false));

CREATE TABLE {record} (
    tenant              TEXT NOT NULL,
    idem_key            TEXT NOT NULL CHECK (length(CAST(idem_key AS BLOB)) BETWEEN 1 AND 320),
    fingerprint         BLOB NOT NULL CHECK (length(fingerprint) = 32),
    fingerprint_version INTEGER NOT NULL,
    status              INTEGER NOT NULL,
    mode                INTEGER NOT NULL,
    recovery            INTEGER,
    owner_token         BLOB NOT NULL CHECK (length(owner_token) = 16),
    lease_until         INTEGER,
    attempt             INTEGER NOT NULL,
    generation          INTEGER NOT NULL,
    step_id             TEXT,
    run_id              TEXT,
    outcome_kind        INTEGER,
    outcome             BLOB,
    outcome_type        TEXT,
    outcome_codec       TEXT,
    created_at          INTEGER NOT NULL,
    completed_at        INTEGER,
    expires_at          INTEGER,
    open_claim          INTEGER REFERENCES {never} (id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (tenant, idem_key)
);

CREATE INDEX {record}_expires_at ON {record} (expires_at);

CREATE TABLE {ledger} (
    seq               INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant            TEXT NOT NULL,
    idem_key          TEXT NOT NULL,
    generation        INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    kind              TEXT NOT NULL CHECK (kind IN
        ('intended', 'executed', 'declined', 'refused', 'unknown', 'resolved', 'revoked', 'reopened', 'aliased')),
    slot              TEXT NOT NULL,
    action            TEXT NOT NULL,
    fingerprint         BLOB NOT NULL,
    fingerprint_version INTEGER NOT NULL,
    step_id           TEXT,
    run_id            TEXT,
    payload_digest    BLOB,
    outcome_digest    BLOB,
    effect_references TEXT,
    actor             TEXT,
    reason            TEXT,
    place             BLOB,
    place_generation  INTEGER,
    freed_place       BLOB,
    detail_commitment BLOB NOT NULL,
    recorded_at       INTEGER NOT NULL
);

CREATE UNIQUE INDEX {ledger}_one ON {ledger} (tenant, idem_key, generation, kind, slot);
CREATE UNIQUE INDEX {ledger}_place ON {ledger} (place, tenant, place_generation) WHERE place IS NOT NULL;
CREATE INDEX {ledger}_freed_place ON {ledger} (freed_place, tenant) WHERE freed_place IS NOT NULL;
CREATE INDEX {ledger}_action ON {ledger} (tenant, action, recorded_at);

CREATE TABLE {ledger_detail} (
    seq            INTEGER PRIMARY KEY,
    tenant         TEXT NOT NULL,
    subject        TEXT,
    preimage       TEXT NOT NULL,
    basis          TEXT,
    model_id       TEXT,
    model_version  TEXT,
    prompt_sha256  TEXT,
    snapshot_id    TEXT,
    policy_version TEXT,
    approver       TEXT,
    salt           BLOB NOT NULL
);

CREATE INDEX {ledger_detail}_subject ON {ledger_detail} (tenant, subject);

CREATE TRIGGER {ledger}_no_update BEFORE UPDATE ON {ledger}
BEGIN SELECT RAISE(ABORT, 'the idem ledger is append-only: UPDATE is refused'); END;

CREATE TRIGGER {ledger}_no_delete BEFORE DELETE ON {ledger}
BEGIN SELECT RAISE(ABORT, 'the idem ledger is append-only: DELETE is refused'); END;
