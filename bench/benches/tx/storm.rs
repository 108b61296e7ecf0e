//! 64 duplicates of one key at a time, in one process with a pool of 20: what an unrelated query on that pool feels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::effect::Desk;
use crate::rounds::quantile;
use crate::server::Server;

/// p99 of the query without and with the storm, as medians of rounds, and how many storms there were.
pub async fn measure(server: &Server, rounds: usize, turn: Duration) -> (Duration, Duration, usize) {
    let pool = server.pool(20).await;
    let desk = Desk::open(pool.clone()).await;
    let (mut calm, mut stormy, mut storms) = (Vec::new(), Vec::new(), 0);
    for round in 0..=rounds {
        let without = p99(&desk, turn).await;
        let stop = Arc::new(AtomicBool::new(false));
        let storm = tokio::spawn(blow(desk.clone(), Arc::clone(&stop), round));
        let with = p99(&desk, turn).await;
        stop.store(true, Ordering::Relaxed);
        storms += storm.await.expect("no panic");
        if round > 0 {
            calm.push(without);
            stormy.push(with);
        }
    }
    pool.close().await;
    (quantile(&mut calm, 0.5), quantile(&mut stormy, 0.5), storms)
}

async fn blow(desk: Desk, stop: Arc<AtomicBool>, round: usize) -> usize {
    let mut storms = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut running = JoinSet::new();
        for _ in 0..64 {
            let desk = desk.clone();
            let case = format!("storm {round} {storms}");
            running.spawn(async move { desk.duplicate(&case).await });
        }
        running.join_all().await;
        storms += 1;
        // Duplicates come with time between them: an agent's retry, a redelivery.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    storms
}

async fn p99(desk: &Desk, turn: Duration) -> Duration {
    let (until, mut times) = (Instant::now() + turn, Vec::new());
    while Instant::now() < until {
        let started = Instant::now();
        sqlx::query("SELECT cents FROM accounts WHERE id = 7")
            .execute(&desk.pool)
            .await
            .expect("selected");
        times.push(started.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    quantile(&mut times, 0.99)
}
