//! What befalls the workers and their server.

use std::sync::atomic::Ordering;
use std::time::Duration;

use idem_system_tests::Restart;

use super::{Chaos, DELAY, FATE, LONGEST_STOP, add, charge};
use crate::stage::{Database, Dice};
use crate::worker::tell;

enum Fate {
    Lives,
    /// By SIGKILL, while it works or while it is stopped.
    IsKilled {
        stopped: bool,
    },
    IsStopped,
}

impl Chaos<'_> {
    /// A worker and its successors, until all wishes are answered and enough workers were killed.
    pub(super) fn serve(&self, dice: &mut Dice) {
        let mut worker = self.orders.start();
        while self.open.load(Ordering::SeqCst) > 0 {
            let batch = self.take();
            if batch.is_empty() {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
            for &order in &batch {
                tell(&mut worker, &charge(order), dice.within(DELAY));
            }
            match self.fate(dice) {
                Fate::Lives => {}
                Fate::IsKilled { stopped } => {
                    std::thread::sleep(dice.within(FATE));
                    if stopped {
                        worker.pause();
                        std::thread::sleep(dice.within(LONGEST_STOP));
                        add(&self.counts.stopped_kills);
                    }
                    assert!(worker.kill().was_killed());
                    add(&self.counts.kills);
                    // Whatever it has said, nobody has heard it.
                    batch.iter().for_each(|order| self.again(*order, dice));
                    worker = self.orders.start();
                    continue;
                }
                Fate::IsStopped => {
                    std::thread::sleep(dice.within(FATE));
                    worker.pause();
                    std::thread::sleep(dice.within(LONGEST_STOP));
                    worker.resume();
                    add(&self.counts.stops);
                }
            }
            for _ in &batch {
                self.hear(&mut worker, dice);
            }
        }
    }

    fn fate(&self, dice: &mut Dice) -> Fate {
        let left = self.open.load(Ordering::SeqCst).max(1) as u64 / self.mode.batch as u64 + 1;
        let wanted = self
            .kills_wanted
            .saturating_sub(self.counts.kills.load(Ordering::SeqCst));
        // So many that the last is killed about when the last wish is answered, and half as many again.
        match dice.below(2 * left) {
            drawn if drawn < 3 * wanted => Fate::IsKilled {
                stopped: self.counts.doomed.fetch_add(1, Ordering::Relaxed) % 8 == 0,
            },
            drawn if drawn < 4 * wanted.max(1) => Fate::IsStopped,
            _ => Fate::Lives,
        }
    }

    /// Restarts the server, if it may be, at even parts of the work: as after a crash and in order, by turns.
    pub(super) fn restart<D: Database>(&self, database: &D) {
        let all = self.open.load(Ordering::SeqCst);
        for part in 1..=RESTARTS as usize {
            while self.open.load(Ordering::SeqCst) > all - all * part / (RESTARTS as usize + 1) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let how = if part % 2 == 1 { Restart::Crash } else { Restart::Fast };
            if !database.restart(how) {
                return;
            }
            add(&self.counts.restarts);
        }
    }
}

/// How often a server restarts that may.
pub(super) const RESTARTS: u64 = 6;
