//! What is measured: one effect of two statements, alone and under each way of making it happen once.

use std::time::Duration;

use idem::{Basis, Digest, Effect, EffectError, Idem, Model, PgStore, Recovery, Settings, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};

#[idempotent(action = "refund.issue", key = [tenant, case_id], subject = case_id)]
#[derive(Clone, Serialize, Deserialize)]
pub struct Refund {
    pub tenant: String,
    pub case_id: String,
    pub cents: i64,
    pub note: String,
}

impl Refund {
    pub fn new(case_id: String) -> Self {
        Self {
            tenant: "acme".to_owned(),
            case_id,
            cents: 100,
            note: "the parcel never arrived".to_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct Receipt {
    pub case_id: String,
    pub text: String,
}

pub const TABLES: &str = "
    CREATE TABLE refunds (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, case_id text NOT NULL, cents bigint NOT NULL);
    CREATE TABLE accounts (id int PRIMARY KEY, cents bigint NOT NULL) WITH (fillfactor = 70);
    INSERT INTO accounts SELECT n, 0 FROM generate_series(1, 10000) n";

/// A variant, in the order in which the table shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Bare,
    Transaction,
    TransactionWithProbe,
    Join,
    Leased,
    Select,
    Replay,
}

pub const VARIANTS: [Variant; 7] = [
    Variant::Bare,
    Variant::Transaction,
    Variant::TransactionWithProbe,
    Variant::Join,
    Variant::Leased,
    Variant::Select,
    Variant::Replay,
];

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "the bare effect: BEGIN, INSERT, UPDATE, COMMIT",
            Self::Transaction => "`transaction`, as shipped (probe off)",
            Self::TransactionWithProbe => "`transaction`, probe on",
            Self::Join => "`join` in the caller's transaction",
            Self::Leased => "`run` (leased), of an effect that takes no time",
            Self::Select => "SELECT of a record by primary key",
            Self::Replay => "replay, probe on",
        }
    }

    /// What it is divided by.
    pub fn floor(self) -> Self {
        match self {
            Self::Select | Self::Replay => Self::Select,
            _ => Self::Bare,
        }
    }
}

/// What one client works with.
#[derive(Clone)]
pub struct Desk {
    pub pool: PgPool,
    plain: Idem<PgStore>,
    probing: Idem<PgStore>,
    basis: Basis,
}

impl Desk {
    pub async fn open(pool: PgPool) -> Self {
        let store = PgStore::new(pool.clone()).open().await.expect("migrated before");
        let model = Model::try_new("gpt-4o", "2024-05-13").expect("a pinned version");
        Self {
            plain: Idem::new(store.clone()),
            probing: Idem::with_settings(store, Settings::default().probe(true)).expect("settings agree"),
            basis: Basis {
                model,
                prompt_template_sha256: Digest::of(b"a template"),
                retrieval_snapshot_id: None,
                policy_version: "policy-1".to_owned(),
                approver: None,
            },
            pool,
        }
    }

    /// Runs a variant once under a case of its own, or under one that was executed before.
    pub async fn run(&self, variant: Variant, case_id: String, seed: u64) {
        let account = i32::try_from(seed % 10_000).expect("small") + 1;
        match variant {
            Variant::Bare => self.bare(&case_id, account).await,
            Variant::Transaction => self.transaction(&self.plain, case_id, account).await,
            Variant::TransactionWithProbe => self.transaction(&self.probing, case_id, account).await,
            Variant::Join => self.join(case_id, account).await,
            Variant::Leased => self.leased(case_id).await,
            Variant::Select => self.select(&Refund::new(case_id)).await,
            Variant::Replay => self.replay(case_id).await,
        }
    }

    async fn bare(&self, case_id: &str, account: i32) {
        let mut tx = self.pool.begin().await.expect("begun");
        effect(&mut tx, case_id, account).await.expect("the effect");
        tx.commit().await.expect("committed");
    }

    async fn transaction(&self, idem: &Idem<PgStore>, case_id: String, account: i32) {
        let refund = Refund::new(case_id);
        let call = idem.call(&refund).step_id("1/5").run_id("20").basis(self.basis.clone());
        let done = call.transaction(async |tx: &mut PgConnection| {
            effect(tx, &refund.case_id, account).await?;
            Ok(receipt(&refund.case_id))
        });
        assert!(!done.await.expect("executed").is_replayed());
    }

    async fn join(&self, case_id: String, account: i32) {
        let refund = Refund::new(case_id);
        let mut tx = self.pool.begin().await.expect("begun");
        let call = self
            .plain
            .call(&refund)
            .step_id("1/5")
            .run_id("20")
            .basis(self.basis.clone());
        let done = call.join(&mut tx, async |tx: &mut PgConnection| {
            effect(tx, &refund.case_id, account).await?;
            Ok(receipt(&refund.case_id))
        });
        done.await.expect("joined");
        tx.commit().await.expect("committed");
    }

    async fn leased(&self, case_id: String) {
        let refund = Refund::new(case_id.clone());
        let call = self
            .plain
            .call(&refund)
            .step_id("1/5")
            .run_id("20")
            .basis(self.basis.clone());
        let effect = async move |_: Effect| Ok::<_, EffectError>(receipt(&case_id));
        let recovery = Recovery::Rerun {
            remembered_for: Duration::from_secs(3600),
        };
        call.run(recovery, effect).await.expect("executed");
    }

    pub async fn select(&self, refund: &Refund) {
        let key = self.plain.call(refund).key().expect("a key");
        let row = sqlx::query("SELECT * FROM idem_record WHERE tenant = $1 AND idem_key = $2")
            .bind("acme")
            .bind(key.as_str())
            .fetch_optional(&self.pool)
            .await
            .expect("selected");
        assert!(row.is_some());
    }

    pub async fn replay(&self, case_id: String) {
        let refund = Refund::new(case_id);
        let never = async |_: &mut PgConnection| -> Result<Receipt, EffectError> { unreachable!("it is on record") };
        let done = self.probing.call(&refund).transaction(never).await.expect("recorded");
        assert!(done.is_replayed());
    }

    /// A duplicate in a storm: executed once, else replayed or told in-flight.
    pub async fn duplicate(&self, case_id: &str) {
        let refund = Refund::new(case_id.to_owned());
        let done = self.plain.call(&refund).transaction(async |tx: &mut PgConnection| {
            effect(tx, &refund.case_id, 1).await?;
            Ok(receipt(&refund.case_id))
        });
        if let Err(error) = done.await {
            assert!(error.is_retryable(), "{error:?}");
        }
    }
}

async fn effect(connection: &mut PgConnection, case_id: &str, account: i32) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO refunds (case_id, cents) VALUES ($1, $2)")
        .bind(case_id)
        .bind(100_i64)
        .execute(&mut *connection)
        .await?;
    sqlx::query("UPDATE accounts SET cents = cents - 100 WHERE id = $1")
        .bind(account)
        .execute(connection)
        .await
        .map(drop)
}

fn receipt(case_id: &str) -> Receipt {
    Receipt {
        case_id: case_id.to_owned(),
        text: "refunded ".repeat(40),
    }
}
