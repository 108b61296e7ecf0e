//! The transactional layer on PostgreSQL beside the same handler without it.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::post;
use http::StatusCode;
use idem::PgStore;
use idem::tower::{Failure, IdempotencyLayer, Tx};
use idem_bench::judge;
use sqlx::postgres::{PgPool, PgPoolOptions};
use tower::ServiceExt as _;

use crate::contenders::ORDER;
use crate::median;

const TURN: usize = 150;
const INSERT: &str = "INSERT INTO bench_orders (body) VALUES ($1)";
const UPDATE: &str = "UPDATE bench_stock SET left_over = left_over - 1 WHERE sku = $1";

pub async fn compare(url: &str, rounds: usize) {
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .connect(url)
        .await
        .expect("the server of IDEM_BENCH_POSTGRES_URL");
    let tables = "DROP TABLE IF EXISTS bench_orders, bench_stock;
        CREATE TABLE bench_orders (id bigserial PRIMARY KEY, body text);
        CREATE TABLE bench_stock (sku int PRIMARY KEY, left_over int);
        INSERT INTO bench_stock SELECT n, 0 FROM generate_series(0, 999) n";
    sqlx::raw_sql(tables).execute(&pool).await.expect("tables");
    let store = PgStore::new(pool.clone())
        .table_prefix("bench_http_")
        .expect("a prefix")
        .migrate()
        .await
        .expect("tables");
    let layer = IdempotencyLayer::transactional(store).shared_namespace().build().expect("a layer");
    let bare = Router::new().route("/orders", post(bare_handler)).with_state(pool.clone());
    let ours = Router::new().route("/orders", post(handler)).route_layer(layer);
    let stamp = std::process::id();
    let (mut without, mut with, mut replays) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let key = |index: usize| format!("{stamp}-{round}-{index}");
        let bare = turn(&bare, key).await;
        let first = turn(&ours, key).await;
        let replay = turn(&ours, key).await;
        if round > 0 {
            without.push(bare);
            with.push(first);
            replays.push(replay);
        }
    }
    println!("\ntransactional on PostgreSQL, one client: p50 of a request\n");
    for (name, times) in [("bare handler", &without), ("idem, first-seen", &with), ("idem, replay", &replays)] {
        println!("  {name:<20} {:>8.0} µs", median(times.iter().copied()) * 1e6);
    }
    println!();
    let of = |times: &[f64]| median(times.iter().zip(&without).map(|(own, bare)| own / bare));
    judge("the bare handler: first-seen", of(&with), None);
    judge("the bare handler: replay", of(&replays), None);
    sqlx::raw_sql("DROP TABLE bench_orders, bench_stock, bench_http_record, bench_http_ledger_detail, bench_http_ledger, bench_http_schema, bench_http_never CASCADE")
        .execute(&pool)
        .await
        .map(drop)
        .unwrap_or_else(|error| eprintln!("tables are left: {error}"));
}

async fn turn(router: &Router, key: impl Fn(usize) -> String) -> f64 {
    let mut times = Vec::new();
    for index in 0..TURN {
        let request = Request::post("/orders")
            .header("content-type", "application/json")
            .header("idempotency-key", key(index))
            .body(Body::from(ORDER))
            .expect("a request");
        let start = Instant::now();
        let response = router.clone().oneshot(request).await.expect("infallible");
        times.push(start.elapsed());
        assert_eq!(response.status(), StatusCode::CREATED);
    }
    median(times.iter().map(Duration::as_secs_f64))
}

async fn bare_handler(State(pool): State<PgPool>, body: String) -> Result<StatusCode, Failure> {
    let mut tx = pool.begin().await?;
    sqlx::query(INSERT).bind(&body).execute(&mut *tx).await?;
    sqlx::query(UPDATE).bind(sku(&body)).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(StatusCode::CREATED)
}

async fn handler(mut tx: Tx<PgStore>, body: String) -> Result<StatusCode, Failure> {
    sqlx::query(INSERT).bind(&body).execute(tx.connection()).await?;
    sqlx::query(UPDATE).bind(sku(&body)).execute(tx.connection()).await?;
    Ok(StatusCode::CREATED)
}

fn sku(body: &str) -> i32 {
    body.len() as i32 % 1000
}
