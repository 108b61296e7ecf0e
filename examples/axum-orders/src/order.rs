//! Taking orders: an effect in our own database.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use idem::tower::{Failure, Tx};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Account;
use crate::payment::Gateway;
use crate::table::Orders;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    pub item: String,
    pub cents: i64,
}

#[derive(Serialize)]
pub struct Order {
    pub id: i64,
    pub item: String,
    pub cents: i64,
    /// The gateway's charge.
    pub paid_by: Option<String>,
}

/// `POST /orders`. What is done on `tx` is committed with the recorded response, before that leaves.
pub async fn create<S: Orders>(
    Extension(account): Extension<Account>,
    mut tx: Tx<S>,
    Json(order): Json<NewOrder>,
) -> Result<Response, Failure> {
    if order.cents <= 0 {
        // A refusal is recorded too: a repeat is told the same.
        let error = Json(json!({"error": "an order costs something"}));
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, error).into_response());
    }
    let order = S::insert(tx.connection(), &account, order).await?;
    let location = format!("/orders/{}", order.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(order)).into_response())
}

/// `GET /orders`. Safe methods have no effect, so they need no key.
pub async fn list<S: Orders>(
    State((store, _)): State<(S, Gateway)>,
    Extension(account): Extension<Account>,
) -> Result<Json<Vec<Order>>, Failure> {
    Ok(Json(store.all(&account).await?))
}
