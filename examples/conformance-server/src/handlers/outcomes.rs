//! What ends in one way or another.

use std::time::Duration;

use axum::Extension;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem::tower::{Attempt, DoNotStore, NothingHappened};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Asked, Status, json};
use crate::runs::Run;

/// What the handler knows of its key.
fn known(status: StatusCode, attempt: &Attempt) -> Value {
    json!({
        "status": status.as_u16(),
        "key": attempt.client_key().map(|key| key.as_str()),
        "attempt": attempt.number(),
        "is_replay": attempt.is_replay(),
        "downstream_key": attempt.downstream_key().to_string(),
    })
}

pub async fn optional() -> Response {
    json(StatusCode::CREATED, &json!({"ok": true}))
}

#[derive(Deserialize)]
pub struct Pause {
    #[serde(default)]
    ms: u64,
}

pub async fn slow(Asked(Pause { ms }): Asked<Pause>, attempt: Attempt) -> Response {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    json(StatusCode::OK, &known(StatusCode::OK, &attempt))
}

pub async fn status(Status(status): Status, attempt: Attempt) -> Response {
    json(status, &known(status, &attempt))
}

/// The status, and that nothing happened.
pub async fn nothing(Status(status): Status, attempt: Attempt) -> Response {
    (NothingHappened, json(status, &known(status, &attempt))).into_response()
}

#[derive(Deserialize)]
pub struct Failures {
    #[serde(default)]
    fail: u64,
}

/// Fails as often as it is asked to, then succeeds.
pub async fn flaky(Asked(Failures { fail }): Asked<Failures>, Extension(Run(run)): Extension<Run>) -> Response {
    let status = match run <= fail {
        true => StatusCode::INTERNAL_SERVER_ERROR,
        false => StatusCode::OK,
    };
    json(status, &json!({"run": run}))
}

pub async fn panic() -> Response {
    panic!("the route /panic panics")
}

pub async fn nostore(attempt: Attempt) -> Response {
    (DoNotStore, json(StatusCode::OK, &known(StatusCode::OK, &attempt))).into_response()
}
