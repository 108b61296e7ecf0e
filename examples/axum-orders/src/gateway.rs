//! The payment gateway: another service, which knows a key again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The charges by their keys. A real gateway would not forget them when it ends.
#[derive(Clone, Default)]
struct Charges(Arc<Mutex<BTreeMap<String, Charge>>>);

#[derive(Clone, Serialize)]
struct Charge {
    charge: String,
    cents: i64,
}

#[derive(Deserialize)]
struct Asked {
    cents: i64,
}

pub fn router() -> Router {
    Router::new()
        .route("/charges", post(charge).get(list))
        .with_state(Charges::default())
}

async fn charge(State(charges): State<Charges>, headers: HeaderMap, Json(asked): Json<Asked>) -> Response {
    let Some(key) = headers.get("idempotency-key").and_then(|key| key.to_str().ok()) else {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "no key"}))).into_response();
    };
    let mut charges = charges.0.lock().unwrap_or_else(PoisonError::into_inner);
    let next = charges.len() + 1;
    let charge = charges.entry(key.to_owned()).or_insert_with(|| Charge {
        charge: format!("ch_{next}"),
        cents: asked.cents,
    });
    (StatusCode::CREATED, Json(charge.clone())).into_response()
}

async fn list(State(charges): State<Charges>) -> Json<Vec<Charge>> {
    let charges = charges.0.lock().unwrap_or_else(PoisonError::into_inner);
    Json(charges.values().cloned().collect())
}
