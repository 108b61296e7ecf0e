//! What a call costs on PostgreSQL, as ratios of one run: to the bare effect in a transaction, and to a SELECT by primary key.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `IDEM_BENCH_POSTGRES_URL` | the server; name its Unix socket | `IDEM_TEST_POSTGRES_URL` |
//! | `IDEM_BENCH_ROUNDS` | rounds | 15 |
//! | `IDEM_BENCH_ONLY` | `calls`, `storm`, `counts` or `growth` | the first three |
//! | `IDEM_BENCH_RECORDS` | how many records and entries `growth` fills in | 2000000 |

mod effect;
mod growth;
mod rounds;
mod server;
mod storm;

use std::time::Duration;

use idem_bench::{Bar, judge};

use crate::effect::{VARIANTS, Variant};
use crate::server::Server;

#[tokio::main]
async fn main() {
    let only = std::env::var("IDEM_BENCH_ONLY").ok();
    let rounds = number("IDEM_BENCH_ROUNDS", 15);
    let wanted = |part: &str| match &only {
        Some(only) => only == part,
        None => part != "growth",
    };
    let server = Server::prepare("calls").await;
    if wanted("calls") {
        for (clients, bar) in [(1, 1.8), (8, 2.0)] {
            calls(&server, clients, bar, rounds).await;
        }
    }
    if wanted("storm") {
        let (calm, stormy, storms) = storm::measure(&server, rounds.min(9), Duration::from_millis(1500)).await;
        println!("\n{storms} storms of 64 duplicates: p99 of an unrelated query {calm:.0?} without, {stormy:.0?} with");
        let ratio = stormy.as_secs_f64() / calm.as_secs_f64();
        judge("of the p99 without the storm", ratio, Some(Bar::AtMost(2.0)));
    }
    if wanted("counts") {
        counts(&server).await;
    }
    if wanted("growth") {
        growth::measure(&server, number("IDEM_BENCH_RECORDS", 2_000_000), rounds).await;
    }
    server.remove().await;
}

async fn calls(server: &Server, clients: u32, bar: f64, rounds: usize) {
    let rows = rounds::compare(server, clients, rounds, Duration::from_millis(400)).await;
    println!("\n| {clients} client(s) | p50 | of its floor |\n|---|---|---|");
    for row in &rows {
        println!("| {} | {:.0?} | {:.2} |", row.variant.name(), row.p50, row.ratio);
    }
    println!();
    for (variant, bar) in [(Variant::Transaction, bar), (Variant::Replay, 1.3)] {
        let row = rows.iter().find(|row| row.variant == variant).expect("listed");
        judge(variant.name(), row.ratio, Some(Bar::AtMost(bar)));
    }
}

async fn counts(server: &Server) {
    const RUNS: u64 = 500;
    println!("\n| for one run | fsyncs | transaction ids | bytes of WAL |\n|---|---|---|---|");
    for variant in VARIANTS {
        let counts = rounds::count(server, variant, RUNS).await;
        let each = |count: i64| count as f64 / RUNS as f64;
        println!(
            "| {} | {:.2} | {:.2} | {:.0} |",
            variant.name(),
            each(counts.fsyncs),
            each(counts.ids),
            each(counts.bytes)
        );
    }
}

fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
