//! Measures ratios: what is compared runs in turns, so that a busy or throttled machine slows both alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Runs the contenders in turns and returns the median time of one run of each, in nanoseconds.
pub fn medians<const N: usize>(mut contenders: [&mut dyn FnMut(); N]) -> [f64; N] {
    let turns = contenders.each_mut().map(|run| turns_in(ROUND, *run));
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for ((run, turns), times) in contenders.iter_mut().zip(turns).zip(&mut times) {
            times.push(time(turns, *run).as_nanos() as f64 / turns as f64);
        }
    }
    times.map(median)
}

/// Prints a ratio beside its bar, if it has one, and returns whether it holds.
pub fn judge(what: &str, ratio: f64, bar: Option<Bar>) -> bool {
    let (holds, bar) = match bar {
        Some(Bar::AtMost(bar)) => (ratio <= bar, format!("bar ≤ {bar}")),
        Some(Bar::AtLeast(bar)) => (ratio >= bar, format!("bar ≥ {bar}")),
        None => (true, "no bar".to_owned()),
    };
    println!("  {ratio:>6.2} × {what} ({bar}){}", if holds { "" } else { " MISSED" });
    holds
}

/// What a ratio is held against.
pub enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

fn turns_in(round: Duration, run: &mut dyn FnMut()) -> usize {
    let mut turns = 1;
    loop {
        let taken = time(turns, run);
        if taken >= round / 2 {
            let scale = round.as_secs_f64() / taken.as_secs_f64();
            return ((turns as f64 * scale) as usize).max(1);
        }
        turns *= 2;
    }
}

fn time(turns: usize, run: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..turns {
        black_box(&mut *run)();
    }
    start.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

// Many short rounds: what else runs on the machine then falls into few of them, and the median does not see it.
const ROUNDS: usize = 3001;
const ROUND: Duration = Duration::from_micros(100);
