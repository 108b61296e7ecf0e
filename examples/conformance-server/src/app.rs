//! The routes, and which of them are behind the layer.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, patch, post};
use idem::tower::{IdempotencyLayer, Mode};

use crate::answer::Refusal;
use crate::database::Database;
use crate::handlers::{bodies, orders, outcomes, outside};
use crate::principal::authenticate;
use crate::runs::{Runs, count};

/// What handlers share.
#[derive(Clone)]
pub struct App<D> {
    pub database: D,
    pub runs: Runs,
}

impl<D> App<D> {
    pub fn new(database: D) -> Self {
        Self {
            database,
            runs: Runs::default(),
        }
    }
}

/// `route_layer`, and not `layer`: what no route matches is answered without a word to the store.
pub fn router<D: Database, M: Mode<D::Store>>(
    app: App<D>,
    layer: &IdempotencyLayer<D::Store, M>,
) -> Result<Router, idem::Error> {
    let counted = from_fn_with_state(app.runs.clone(), count);
    let optional = Router::new()
        .route("/optional", post(outcomes::optional))
        .route_layer(counted.clone())
        .route_layer(layer.to_builder().optional().build()?);
    let required = Router::new()
        .route("/orders", post(orders::create::<D>))
        .route(
            "/orders/{id}",
            patch(orders::replace::<D>)
                .put(orders::replace::<D>)
                .delete(orders::delete::<D>),
        )
        .route("/orders/{id}/cancel", post(orders::cancel::<D>))
        .route("/insert-then/{code}", post(orders::insert_then::<D>))
        .route("/committed/{code}", post(orders::committed::<D>))
        .route("/slow", post(outcomes::slow))
        .route("/status/{code}", post(outcomes::status))
        .route("/nothing/{code}", post(outcomes::nothing))
        .route("/flaky", post(outcomes::flaky))
        .route("/panic", post(outcomes::panic))
        .route("/nostore", post(outcomes::nostore))
        .route("/bytes", post(bodies::bytes))
        .route("/large", post(bodies::large))
        .route("/stream", post(bodies::stream))
        .route("/chunks", post(bodies::chunks))
        .route_layer(counted)
        .route_layer(layer.clone());
    let protected = required.merge(optional).route_layer(from_fn(authenticate));
    let asking = Router::new()
        .route("/runs", get(outside::runs::<D>))
        .route_layer(from_fn(authenticate));
    Ok(protected
        .merge(asking)
        .route("/orders/count", get(outside::count::<D>))
        .route("/orders/{id}", get(outside::order::<D>))
        .route("/admin/clock", post(outside::clock::<D>))
        .fallback(|| async { Refusal::NotFound })
        .method_not_allowed_fallback(|| async { Refusal::WrongMethod })
        // The layer has a limit of its own.
        .layer(DefaultBodyLimit::disable())
        .with_state(app))
}
