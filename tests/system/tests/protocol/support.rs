//! What the modules share: an input and an effect that is one row, on either database.

use idem::idempotent;
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
