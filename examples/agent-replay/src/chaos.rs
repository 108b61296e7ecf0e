//! The supervisor of `--chaos SEED`: kills the work again and again, and starts it from the first call each time.
//!
//! A kill is SIGKILL: no destructor runs, no transaction is closed. The plan is made from the seed and the recording
//! alone, so a run that went wrong can be asked for again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::breakpoint::Stop;
use crate::child::{Child, Message, Work};
use crate::failure::Failure;
use crate::random::Random;
use crate::report::{self, Served};

/// The kills of one run.
#[derive(Default)]
pub struct Kills {
    /// How often the work was killed at each point.
    pub at: BTreeMap<String, u32>,
    /// How often it was killed wherever it happened to be.
    pub elsewhere: u32,
}

impl Kills {
    pub fn total(&self) -> u32 {
        self.at.values().sum::<u32>() + self.elsewhere
    }

    fn count(&mut self, kill: &Kill) {
        match kill {
            Kill::At(stop) => *self.at.entry(stop.point.clone()).or_default() += 1,
            Kill::AtOddMoment { .. } => self.elsewhere += 1,
        }
    }
}

/// Runs the work under a plan of kills and then once to its end.
pub struct Supervisor<'a> {
    pub work: Work<'a>,
}

impl Supervisor<'_> {
    /// Gives the kills, and the answers of the last pass, which is complete.
    pub async fn run(&self, seed: u64, calls: u64, effects: u64) -> Result<Served, Failure> {
        let points = self.work.options.mode.points();
        let mut kills = Kills::default();
        for kill in plan(&mut Random::from_seed(seed), points, calls, effects) {
            self.strike(&kill, &mut kills).await?;
        }
        // The work may have been done sooner than planned.
        for &point in points {
            if !kills.at.contains_key(point) {
                self.strike(&Kill::at(point, 1), &mut kills).await?;
            }
        }
        // A short pass may be through before the signal arrives, though not time after time.
        for _ in 0..10 * LEAST_KILLS {
            if kills.total() < LEAST_KILLS {
                self.strike(&Kill::at_odd_moment(0, 0), &mut kills).await?;
            }
        }
        let mut child = Child::start(&self.work, None)?;
        let mut answers = Vec::new();
        while let Some(message) = child.message().await? {
            if let Message::Answered(_, answer) = message {
                answers.push(answer);
            }
        }
        child.finish().await?;
        Ok(Served { answers, kills })
    }

    /// Starts the work and kills it as planned, unless it gets through first.
    async fn strike(&self, kill: &Kill, kills: &mut Kills) -> Result<(), Failure> {
        let stop = match kill {
            Kill::At(stop) => Some(stop),
            Kill::AtOddMoment { .. } => None,
        };
        let mut child = Child::start(&self.work, stop)?;
        let mut answered = 0;
        let ended_first = loop {
            if let Kill::AtOddMoment { answers, pause } = kill
                && answered == *answers
            {
                if !pause.is_zero() {
                    tokio::time::sleep(*pause).await;
                }
                break false;
            }
            match child.message().await? {
                Some(Message::Answered(..)) => answered += 1,
                Some(Message::At(_)) => break false,
                None => break true,
            }
        };
        let killed = if ended_first {
            child.finish().await.map(|()| false)?
        } else {
            child.kill().await?
        };
        if killed {
            kills.count(kill);
            report::say(&format!(
                "kill {}: {kill}; {answered} calls had been answered",
                kills.total()
            ));
        } else {
            report::say(&format!("no kill: {kill}; the work was done before"));
        }
        Ok(())
    }
}

enum Kill {
    At(Stop),
    AtOddMoment { answers: u64, pause: Duration },
}

impl Kill {
    fn at(point: &str, hit: u64) -> Self {
        let point = point.to_owned();
        Self::At(Stop { point, hit })
    }

    fn at_odd_moment(answers: u64, microseconds: u64) -> Self {
        let pause = Duration::from_micros(microseconds);
        Self::AtOddMoment { answers, pause }
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(Stop { point, hit }) => write!(f, "at `{point}`, hit {hit}"),
            Self::AtOddMoment { answers, pause } => {
                write!(f, "{} µs after answer {answers}", pause.as_micros())
            }
        }
    }
}

/// Two kills at each point and a few at odd moments.
///
/// Each pass starts over, and what was committed is not done again, so the plan must leave something to do: a kill at
/// the last point spends an effect and closes its round, and no kill waits for more than a tenth of the effects.
fn plan(random: &mut Random, points: &[&str], calls: u64, effects: u64) -> Vec<Kill> {
    let most_hits = (effects / 10).max(1);
    let mut plan = Vec::new();
    for _ in 0..2 {
        let mut round = points.to_vec();
        random.shuffle(&mut round[..points.len() - 1]);
        plan.extend(
            round
                .into_iter()
                .map(|point| Kill::at(point, 1 + random.below(most_hits))),
        );
    }
    for _ in 0..2 + random.below(3) {
        let position = points.len() + random.below((plan.len() - points.len()) as u64 + 1) as usize;
        plan.insert(
            position,
            Kill::at_odd_moment(random.below(calls / 4 + 1), random.below(3000)),
        );
    }
    plan
}

const LEAST_KILLS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Mode;

    #[test]
    fn the_first_round_hits_every_point_however_few_effects_there_are() {
        for (seed, effects) in (0..1000).flat_map(|seed| [1, 2, 9, 10, 81, 1000].map(|effects| (seed, effects))) {
            for mode in [Mode::Transactional, Mode::Leased] {
                hits_every_point(seed, effects, mode.points());
            }
        }
    }

    fn hits_every_point(seed: u64, effects: u64, all: &[&str]) {
        let plan = plan(&mut Random::from_seed(seed), all, 2 * effects, effects);
        assert!(plan.len() >= LEAST_KILLS as usize);
        let mut spent = 0;
        let mut points = Vec::new();
        for kill in &plan[..all.len()] {
            let Kill::At(stop) = kill else {
                panic!("the first round has a kill at an odd moment")
            };
            assert!(
                spent + stop.hit <= effects,
                "seed {seed}, {effects} effects: {kill} is out of reach"
            );
            spent += if Some(&&*stop.point) == all.last() {
                stop.hit
            } else {
                stop.hit - 1
            };
            points.push(&*stop.point);
        }
        points.sort_unstable();
        let mut all = all.to_vec();
        all.sort_unstable();
        assert_eq!(points, all);
    }
}
