//! What the modules share: an input and an effect that is one row, on either database.

use idem::{Error, Idem, PgStore, SqliteStore, idempotent};
use serde::{Deserialize, Serialize};

/// A refund; its effect is a row of `refunds`.
#[idempotent(action = "refund.issue", key = [tenant, case_id], subject = case_id)]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refund {
    pub tenant: String,
    pub case_id: String,
    pub cents: i64,
    #[transient]
    pub rationale: String,
}

impl Refund {
    pub fn new(case_id: &str, cents: i64) -> Self {
        Self {
            tenant: "acme".into(),
            case_id: case_id.into(),
            cents,
            rationale: "worded anew each time".into(),
        }
    }
}

/// What a call returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub case_id: String,
    pub nonce: u64,
}

pub const CREATE_REFUNDS: &str = "CREATE TABLE IF NOT EXISTS refunds (case_id text NOT NULL, cents bigint NOT NULL)";
pub const INSERT_REFUND: &str = "INSERT INTO refunds (case_id, cents) VALUES ($1, $2)";

/// A store on PostgreSQL with the table of the effects.
pub async fn pg(pool: sqlx::PgPool) -> Result<Idem<PgStore>, Error> {
    sqlx::query(CREATE_REFUNDS)
        .execute(&pool)
        .await
        .expect("the table is created");
    Ok(Idem::new(PgStore::new(pool).migrate().await?))
}

/// A store on SQLite with the table of the effects.
pub async fn sqlite(url: &str) -> Result<Idem<SqliteStore>, Error> {
    let store = SqliteStore::connect(url).await?;
    sqlx::query(CREATE_REFUNDS)
        .execute(store.pool())
        .await
        .expect("the table is created");
    Ok(Idem::new(store))
}
