//! What changes orders.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem::tower::{EffectCommitted, Failure, Tx};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::answer::{Asked, Numbered, Refusal, Status, json, text};
use crate::app::App;
use crate::database::{Change, Database, Order};

/// The transaction of the request, in transactional mode.
type MaybeTx<D> = Option<Tx<<D as Database>::Store>>;

/// Makes a change in the transaction of the request if there is one, which commits with the record, else by itself.
async fn change<D: Database>(app: &App<D>, tx: MaybeTx<D>, change: Change) -> Result<Option<Order>, Failure> {
    match tx {
        Some(mut tx) => app.database.change(tx.connection(), change).await,
        None => app.database.change_alone(change).await,
    }
}

pub async fn create<D: Database>(State(app): State<App<D>>, tx: MaybeTx<D>, body: Bytes) -> Result<Response, Refusal> {
    let seen = read(&body)?;
    let Some(order) = change(&app, tx, Change::Insert(seen.to_owned())).await? else {
        return Err(Refusal::NotFound);
    };
    let id = order.id;
    // As it was sent: numbers that no type of Rust holds come back whole.
    let mut response = text(StatusCode::CREATED, format!("{{\"id\":{id},\"seen\":{seen}}}"));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::LOCATION, format!("/orders/{id}")),
        (header::ETAG, format!("\"{id}-1\"")),
        (header::LINK, format!("</orders/{id}>; rel=\"self\"")),
        (header::LINK, "</orders>; rel=\"collection\"".into()),
        (header::SET_COOKIE, format!("last_order={id}; HttpOnly")),
    ] {
        headers.append(name, HeaderValue::try_from(value)?);
    }
    for (name, value) in OF_ONE_EXCHANGE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// What a replay may not have from its record.
const OF_ONE_EXCHANGE: [(&str, &str); 5] = [
    ("x-request-id", "first-request"),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("ratelimit-remaining", "41"),
    ("age", "7"),
    ("access-control-allow-origin", "https://shop.example"),
];

pub async fn replace<D: Database>(
    State(app): State<App<D>>,
    Numbered(id): Numbered<i64>,
    tx: MaybeTx<D>,
    body: Bytes,
) -> Result<Response, Refusal> {
    let body = read(&body)?.to_owned();
    changed(change(&app, tx, Change::Replace(id, body)).await?)
}

pub async fn cancel<D: Database>(
    State(app): State<App<D>>,
    Numbered(id): Numbered<i64>,
    tx: MaybeTx<D>,
) -> Result<Response, Refusal> {
    changed(change(&app, tx, Change::Cancel(id)).await?)
}

pub async fn delete<D: Database>(
    State(app): State<App<D>>,
    Numbered(id): Numbered<i64>,
    tx: MaybeTx<D>,
) -> Result<Response, Refusal> {
    match change(&app, tx, Change::Delete(id)).await? {
        Some(order) => Ok(json(StatusCode::OK, &json!({"id": order.id, "deleted": true}))),
        None => Err(Refusal::NotFound),
    }
}

#[derive(Deserialize)]
pub struct Pause {
    /// How long to wait before the answer.
    #[serde(default)]
    ms: u64,
}

/// Inserts a row, waits, then answers the status.
pub async fn insert_then<D: Database>(
    State(app): State<App<D>>,
    Status(status): Status,
    Asked(Pause { ms }): Asked<Pause>,
    tx: MaybeTx<D>,
) -> Result<Response, Refusal> {
    let body = json!({"inserted_then": status.as_u16()});
    change(&app, tx, Change::Insert(body.to_string())).await?;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(json(status, &body))
}

/// Inserts a row that stands whatever the status says.
pub async fn committed<D: Database>(
    State(app): State<App<D>>,
    Status(status): Status,
    tx: MaybeTx<D>,
) -> Result<Response, Refusal> {
    let body = json!({"committed": status.as_u16()});
    change(&app, tx, Change::Insert(body.to_string())).await?;
    Ok((EffectCommitted, json(status, &body)).into_response())
}

/// An order as clients see it.
pub fn shown(order: &Order) -> Response {
    let Order { id, body, state } = order;
    text(
        StatusCode::OK,
        format!("{{\"id\":{id},\"state\":\"{state}\",\"order\":{body}}}"),
    )
}

fn changed(order: Option<Order>) -> Result<Response, Refusal> {
    order.as_ref().map(shown).ok_or(Refusal::NotFound)
}

fn read(body: &[u8]) -> Result<&str, Refusal> {
    let not_json = |error: &dyn std::fmt::Display| Refusal::Bad(format!("the body is not JSON: {error}"));
    let text = std::str::from_utf8(body).map_err(|error| not_json(&error))?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| not_json(&error))?;
    Ok(text)
}
