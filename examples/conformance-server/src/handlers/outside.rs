//! What is asked beside the layer.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::orders::shown;
use crate::answer::{Asked, Numbered, Refusal, json};
use crate::app::App;
use crate::database::Database;
use crate::principal::Principal;

pub async fn count<D: Database>(State(app): State<App<D>>) -> Result<Response, Refusal> {
    let count = app.database.count().await?;
    Ok(json(StatusCode::OK, &json!({"count": count})))
}

pub async fn order<D: Database>(State(app): State<App<D>>, Numbered(id): Numbered<i64>) -> Result<Response, Refusal> {
    let order = app.database.order(id).await?;
    order.as_ref().map(shown).ok_or(Refusal::NotFound)
}

#[derive(Deserialize)]
pub struct OfKey {
    key: String,
}

/// How often a handler of this process ran for a key of whoever asks.
pub async fn runs<D: Database>(
    State(app): State<App<D>>,
    Extension(principal): Extension<Principal>,
    Asked(OfKey { key }): Asked<OfKey>,
) -> Response {
    json(StatusCode::OK, &json!({"runs": app.runs.of(principal, key)}))
}

#[derive(Deserialize)]
pub struct Advance {
    advance_s: i64,
}

/// Moves the clock of leases and retentions, for every process on the database.
pub async fn clock<D: Database>(
    State(app): State<App<D>>,
    Asked(Advance { advance_s }): Asked<Advance>,
) -> Result<Response, Refusal> {
    let Some(millis) = advance_s.checked_mul(1000) else {
        return Err(Refusal::Bad("the clock does not go so far".into()));
    };
    let ahead = app.database.advance(millis).await?;
    Ok(json(StatusCode::OK, &json!({"ahead_s": ahead / 1000})))
}
