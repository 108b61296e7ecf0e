-- Nothing is ever in here. A claim refers to it until its outcome is recorded, and the reference is checked at COMMIT: so
-- a claim cannot be committed without its outcome, whoever sends the COMMIT.
CREATE TABLE {never} (id smallint PRIMARY KEY CHECK (false));

-- Lengths and words are not checked here: PostgreSQL would parse each check anew for every statement, which takes longer than
-- an index. What is written has them by its type, and what is read is judged before it is used.
CREATE TABLE {record} (
    tenant              text COLLATE "C" NOT NULL,
    idem_key            text COLLATE "C" NOT NULL,
    fingerprint         bytea    NOT NULL,
    fingerprint_version smallint NOT NULL,
    status              smallint NOT NULL,
    mode                smallint NOT NULL,
    recovery            bigint,
    owner_token         bytea    NOT NULL,
    lease_until         timestamptz,
    attempt             integer  NOT NULL,
    generation          integer  NOT NULL,
    step_id             text,
    run_id              text,
    outcome_kind        smallint,
    outcome             bytea,
    outcome_type        text,
    outcome_codec       text,
    created_at          timestamptz NOT NULL,
    completed_at        timestamptz,
    expires_at          timestamptz,
    open_claim          smallint,
    CONSTRAINT {record}_claim_without_outcome FOREIGN KEY (open_claim) REFERENCES {never} (id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (tenant, idem_key)
) WITH (fillfactor = 70);

CREATE INDEX {record}_expires_at ON {record} (expires_at);

CREATE TABLE {ledger} (
    seq               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant            text COLLATE "C" NOT NULL,
    idem_key          text COLLATE "C" NOT NULL,
    generation        integer NOT NULL,
    attempt           integer NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    slot              text COLLATE "C" NOT NULL,
    action            text COLLATE "C" NOT NULL,
    fingerprint         bytea    NOT NULL,
    fingerprint_version smallint NOT NULL,
    step_id           text,
    run_id            text,
    payload_digest    bytea,
    outcome_digest    bytea,
    effect_references text,
    actor             text,
    reason            text COLLATE "C",
    place             bytea,
    place_generation  integer,
    freed_place       bytea,
    detail_commitment bytea NOT NULL,
    recorded_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT {ledger}_one UNIQUE (tenant, idem_key, generation, kind, slot)
);

-- Only the lookup by key begins with the tenant. On tables without statistics PostgreSQL would otherwise take another
-- index that does for the one by key, and read all that a tenant ever did.
-- Few entries take or free a place, and the others are spared its indexes.
CREATE UNIQUE INDEX {ledger}_place ON {ledger} (place, tenant, place_generation) WHERE place IS NOT NULL;
CREATE INDEX {ledger}_freed_place ON {ledger} (freed_place, tenant) WHERE freed_place IS NOT NULL;
CREATE INDEX {ledger}_action ON {ledger} (action, tenant, recorded_at);

CREATE TABLE {ledger_detail} (
    seq            bigint PRIMARY KEY,
    tenant         text COLLATE "C" NOT NULL,
    subject        text,
    preimage       text NOT NULL,
    basis          text,
    model_id       text,
    model_version  text,
    prompt_sha256  text,
    snapshot_id    text,
    policy_version text,
    approver       text,
    salt           bytea NOT NULL
);

CREATE INDEX {ledger_detail}_subject ON {ledger_detail} (tenant, subject) WHERE subject IS NOT NULL;

CREATE FUNCTION {ledger}_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the idem ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER {ledger}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {ledger}
    FOR EACH STATEMENT EXECUTE FUNCTION {ledger}_append_only();
