//! The idempotency layer of idem for HTTP services: axum and any Tower stack.
//!
//! Clients repeat requests: after a time-out, a lost connection, a crash, a double click. With [`IdempotencyLayer`] around a
//! service, a request that comes with an `Idempotency-Key` has its effect once, and each repeat gets the recorded response,
//! marked with `Idempotent-Replayed: true`. The key is bound to the request that first came with it: another one under it is
//! refused and never answered with a response that was not meant for it.
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use idem_core::{MemoryStore, Recovery};
//! use idem_tower::{IdempotencyLayer, RequestBody};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//!
//! type Body = Full<bytes::Bytes>;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let orders = Arc::new(AtomicU32::new(0));
//! let count = Arc::clone(&orders);
//! let service = ServiceBuilder::new()
//!     .layer(IdempotencyLayer::leased(MemoryStore::new(), Recovery::Hold).shared_namespace().build()?)
//!     .service(service_fn(move |_: Request<RequestBody<Body>>| {
//!         let number = count.fetch_add(1, Ordering::Relaxed) + 1;
//!         async move { Ok::<_, Infallible>(Response::new(Body::from(format!("order {number}")))) }
//!     }));
//!
//! let send = async |key: &str, body: &'static str| {
//!     let request = Request::post("/orders").header("idempotency-key", key).body(Body::from(body)).unwrap();
//!     service.clone().oneshot(request).await.unwrap()
//! };
//! let first = send("8e03978e-40d5", "tea").await;
//! assert_eq!(first.status(), StatusCode::OK);
//! let repeat = send("8e03978e-40d5", "tea").await;
//! assert_eq!((repeat.status(), &repeat.headers()["idempotent-replayed"]), (StatusCode::OK, &"true".parse().unwrap()));
//! let another = send("8e03978e-40d5", "coffee").await;
//! assert_eq!(another.status(), StatusCode::UNPROCESSABLE_ENTITY);
//! assert_eq!(orders.load(Ordering::Relaxed), 1);
//! # Ok::<(), idem_core::Error>(())
//! # }).unwrap();
//! ```
//!
//! - [`IdempotencyLayer`] has the two modes: [`leased`](IdempotencyLayer::leased) for handlers that call other services,
//!   [`transactional`](IdempotencyLayer::transactional) for those whose effect is in the store's own database.
//! - [`Builder`] has the settings, each with its default. Whose keys they are has none.
//! - [`Attempt`] is what a handler can know of its request's key, [`Tx`] the transaction that it works in, [`Failure`] an error
//!   of which the layer can tell what it means.
//! - [`EffectCommitted`], [`NothingHappened`], [`DoNotStore`] and [`Unbounded`] are what a response can say of its effect.
//! - [`ProblemKind`] lists what the layer answers by itself, and what each answer asks of the client.
//!
//! With the feature `axum`, `Attempt` and `Tx` are extractors, the marks are response parts and `Failure` is a response; the
//! layer compares the path that the client sent, also inside of nested routers, and the action in the ledger is the route. The
//! guide is `docs/http.md` in the repository, which the package `idem-rs` has among its documentation; it re-exports this crate
//! as `idem::tower`.

mod attempt;
#[cfg(feature = "axum")]
mod axum;
mod builder;
mod config;
mod failure;
mod future;
mod grpc;
mod header;
mod layer;
mod problem;
mod profile;
mod request;
mod response;
mod serve;
mod service;
mod status;
mod tx;

pub use attempt::Attempt;
pub use builder::{Builder, HasScope, NoScope, Scoped};
pub use failure::Failure;
pub use future::ResponseFuture;
pub use header::{InvalidKey, parse_key};
pub use layer::IdempotencyLayer;
pub use problem::{Problem, ProblemKind, Rendered};
pub use profile::Profile;
pub use request::RequestBody;
pub use response::ResponseBody;
pub use serve::{Leased, Mode, Transactional};
pub use service::Idempotency;
pub use status::{Disposition, DoNotStore, EffectCommitted, NothingHappened, Unbounded};
pub use tx::{Tx, TxError};
