//! Rounds: every variant has its turn in each, in another order, and is divided by what its floor took in the same round.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;

use crate::effect::{Desk, VARIANTS, Variant};
use crate::server::{Counts, Server};

/// What came of one variant.
pub struct Row {
    pub variant: Variant,
    pub p50: Duration,
    /// p50 to p50 of the floor of the same round, the median of all rounds.
    pub ratio: f64,
}

/// Runs all variants with so many clients at once.
pub async fn compare(server: &Server, clients: u32, rounds: usize, turn: Duration) -> Vec<Row> {
    let pool = server.pool(clients).await;
    let desk = Desk::open(pool.clone()).await;
    let mut dice = Dice::new();
    for number in 0..KNOWN {
        desk.duplicate(&known(clients, number)).await;
    }
    // As autovacuum would, which comes around once a minute: PostgreSQL plans for tables that are not empty.
    let analysed = sqlx::query("ANALYZE").execute(&pool).await;
    analysed.expect("analysed");
    let mut p50s = vec![Vec::new(); VARIANTS.len()];
    // The first round prepares the statements of every connection.
    for round in 0..=rounds {
        let mut order: Vec<_> = (0..VARIANTS.len()).collect();
        dice.shuffle(&mut order);
        for index in order {
            let p50 = median(take_turn(&desk, VARIANTS[index], clients, turn, dice.next()).await);
            if round > 0 {
                p50s[index].push(p50);
            }
        }
    }
    pool.close().await;
    let of = |variant: Variant| &p50s[VARIANTS.iter().position(|other| *other == variant).expect("listed")];
    VARIANTS
        .into_iter()
        .map(|variant| {
            let pairs = of(variant).iter().zip(of(variant.floor()));
            Row {
                variant,
                p50: median(of(variant).clone()),
                ratio: median(
                    pairs
                        .map(|(own, floor)| own.as_secs_f64() / floor.as_secs_f64())
                        .collect(),
                ),
            }
        })
        .collect()
}

/// What the server counts for so many runs of a variant by one client.
pub async fn count(server: &Server, variant: Variant, runs: u64) -> Counts {
    let pool = server.pool(1).await;
    let desk = Desk::open(pool.clone()).await;
    let mut dice = Dice::new();
    let mut cases: Vec<_> = (0..=runs).map(|_| case(variant, 1, dice.next())).collect();
    // The connection prepares its statements.
    desk.run(variant, cases.pop().expect("one more"), 1).await;
    let before = server.counts().await;
    for (seed, case) in cases.into_iter().enumerate() {
        desk.run(variant, case, seed as u64).await;
    }
    // PostgreSQL adds a session's counts to its statistics when the session ends.
    pool.close().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.counts().await.since(&before)
}

async fn take_turn(desk: &Desk, variant: Variant, clients: u32, turn: Duration, seed: u64) -> Vec<Duration> {
    let mut running = JoinSet::new();
    let until = Instant::now() + turn;
    for client in 0..clients {
        let desk = desk.clone();
        running.spawn(async move {
            let mut dice = Dice(seed ^ (u64::from(client) << 32) | 1);
            let mut times = Vec::new();
            while Instant::now() < until {
                let number = dice.next();
                let case = case(variant, clients, number);
                let started = Instant::now();
                desk.run(variant, case, number).await;
                times.push(started.elapsed());
            }
            times
        });
    }
    running.join_all().await.concat()
}

/// A case that nobody has seen, or one that is on record.
fn case(variant: Variant, clients: u32, number: u64) -> String {
    match variant {
        Variant::Select | Variant::Replay => known(clients, number % KNOWN),
        _ => format!("{variant:?} {number:x}"),
    }
}

fn known(clients: u32, number: u64) -> String {
    format!("known {clients} {number}")
}

pub fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    quantile(&mut values, 0.5)
}

pub fn quantile<T: PartialOrd + Copy>(values: &mut [T], share: f64) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    values[((values.len() - 1) as f64 * share) as usize]
}

/// xorshift64.
struct Dice(u64);

impl Dice {
    /// Other numbers each time: a case that comes again would be a replay.
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(now.as_nanos() as u64 | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 1
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

const KNOWN: u64 = 500;
