//! What a request with a key costs in the layer, as ratios of one run: CPU per request of ours, of `idempotent` 2.0 and of
//! `axum-idempotent` 0.6 over the bare handler, first-seen and replay, each with its store in memory; how often each runs
//! the handler for 50 requests at once; and the transactional layer on PostgreSQL beside the same handler without it.
//!
//! `cargo bench`-like, without a harness: `cargo run --release --ignore-rust-version -p idem-bench-http`.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `IDEM_BENCH_ROUNDS` | rounds | 15 |
//! | `IDEM_BENCH_ONLY` | one contender alone, for a profiler | |
//! | `IDEM_BENCH_POSTGRES_URL` | the server; without it that part is left out | |

mod contenders;
mod postgres;

use std::time::{Duration, Instant};

use axum::Router;
use cpu_time::ProcessTime;
use tower::ServiceExt as _;

use contenders::Contender;
use idem_bench::{Bar, judge};

/// Requests of one turn.
const TURN: u32 = 2_000;

fn main() {
    let rounds = std::env::var("IDEM_BENCH_ROUNDS").map_or(15, |rounds| rounds.parse().expect("a number"));
    // One thread: what others would do beside a request counts as its cost.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(requests(rounds));
    runtime.block_on(races());
    if let Ok(url) = std::env::var("IDEM_BENCH_POSTGRES_URL") {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(postgres::compare(&url, rounds));
    }
}

#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    wall: f64,
}

async fn requests(rounds: usize) {
    let mut contenders = contenders::all().await;
    if let Ok(only) = std::env::var("IDEM_BENCH_ONLY") {
        contenders.retain(|contender| contender.name == only);
    }
    for (what, is_replay) in [("first-seen", false), ("replay", true)] {
        let mut costs = vec![Vec::new(); contenders.len()];
        for round in 0..=rounds {
            for offset in 0..contenders.len() {
                let index = (round + offset) % contenders.len();
                let cost = turn(&contenders[index], round, is_replay).await;
                if round > 0 {
                    costs[index].push(cost);
                }
            }
        }
        println!("\n{what}, in memory: CPU of one request, requests a second on one core\n");
        let medians: Vec<Cost> = costs
            .iter()
            .map(|costs| Cost {
                cpu: median(costs.iter().map(|cost| cost.cpu)),
                wall: median(costs.iter().map(|cost| cost.wall)),
            })
            .collect();
        for (contender, cost) in contenders.iter().zip(&medians) {
            println!("  {:<36} {:>7.2} µs {:>9.0}/s", contender.name, cost.cpu * 1e6, 1.0 / cost.wall);
        }
        println!();
        let of = |name: &str| {
            let index = contenders.iter().position(|contender| contender.name == name).expect("listed");
            costs[index].iter().map(|cost| cost.cpu).collect::<Vec<_>>()
        };
        if contenders.len() == 1 {
            continue;
        }
        for ours in [contenders::OURS, contenders::WITHOUT_LEDGER] {
            for theirs in [contenders::IDEMPOTENT, contenders::AXUM_IDEMPOTENT] {
                let ratio = median(of(ours).iter().zip(of(theirs)).map(|(own, other)| own / other));
                let bar = (theirs == contenders::IDEMPOTENT).then_some(Bar::AtMost(1.0));
                judge(&format!("{theirs}: {ours}, {what}"), ratio, bar);
            }
        }
    }
}

async fn turn(contender: &Contender, round: usize, is_replay: bool) -> Cost {
    let keys: Vec<String> = (0..TURN)
        .map(|index| match is_replay {
            // Made in the first round, which does not count.
            true => format!("replayed-{}", index % 100),
            false => format!("{}-{round}-{index}-2ac4f0e8", contender.name.len()),
        })
        .collect();
    let requests: Vec<_> = keys.iter().map(|key| contender.request(key)).collect();
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    for request in requests {
        let response = contender.router.clone().oneshot(request).await.expect("infallible");
        let status = response.status();
        let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a body").to_bytes();
        assert!(status == 201 && body.len() == contenders::ANSWER.len(), "{} {status}", contender.name);
    }
    Cost {
        cpu: cpu.elapsed().as_secs_f64() / f64::from(TURN),
        wall: wall.elapsed().as_secs_f64() / f64::from(TURN),
    }
}

/// 50 requests with one key at once: how often the handler ran.
async fn races() {
    println!("\n50 requests with one key at once, five times: runs of the handler\n");
    for contender in contenders::all().await {
        let mut runs = Vec::new();
        for race in 0..5 {
            let before = contender.runs();
            let racing: Vec<_> = (0..50)
                .map(|_| {
                    let (router, request): (Router, _) = (contender.router.clone(), contender.slow_request(&format!("race-{race}")));
                    tokio::spawn(router.oneshot(request))
                })
                .collect();
            for request in racing {
                request.await.expect("no panic").expect("infallible");
            }
            runs.push(contender.runs() - before);
        }
        println!("  {:<36} {runs:?}", contender.name);
    }
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long a slow handler takes.
pub const SLOW: Duration = Duration::from_millis(20);
