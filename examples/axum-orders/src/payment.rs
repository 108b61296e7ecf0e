//! Having orders paid: an effect at another service.

use std::net::SocketAddr;

use axum::extract::{Path, State};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use idem::tower::{Attempt, Failure};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpStream;

use crate::account::Account;
use crate::table::Orders;

/// `POST /orders/{id}/pay`. It runs under a claim with a lease, and may run again after an attempt that broke off: every
/// attempt sends the gateway the same key, so there is one charge.
pub async fn pay<S: Orders>(
    State((store, gateway)): State<(S, Gateway)>,
    Extension(account): Extension<Account>,
    Path(id): Path<i64>,
    attempt: Attempt,
) -> Result<Response, Failure> {
    let Some(mut order) = store.find(&account, id).await? else {
        return Ok((StatusCode::NOT_FOUND, Json(json!({"error": "no such order"}))).into_response());
    };
    if order.paid_by.is_some() && attempt.number() == 1 {
        return Ok((StatusCode::CONFLICT, Json(json!({"error": "it is paid"}))).into_response());
    }
    // Whatever goes wrong from here on is a `Failure`: 500, nothing is recorded, and a repeat is the next attempt.
    let charge = gateway
        .charge(&attempt.downstream_key().to_string(), order.cents)
        .await?;
    store.mark_paid(&account, id, &charge).await?;
    order.paid_by = Some(charge);
    Ok(Json(order).into_response())
}

/// The client of the payment gateway.
#[derive(Clone)]
pub struct Gateway {
    address: SocketAddr,
}

#[derive(Deserialize)]
struct Charged {
    charge: String,
}

impl Gateway {
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Has the amount charged, once for each key; the number of the charge.
    async fn charge(&self, key: &str, cents: i64) -> Result<String, Failure> {
        let request = Request::post("/charges")
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .header("idempotency-key", key)
            .body(Full::<Bytes>::from(json!({"cents": cents}).to_string()))?;
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body: Bytes = response.into_body().collect().await?.to_bytes();
        if status != StatusCode::CREATED {
            return Err(std::io::Error::other(format!("the gateway answered {status}")).into());
        }
        Ok(serde_json::from_slice::<Charged>(&body)?.charge)
    }
}
