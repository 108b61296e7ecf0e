//! Many transactional calls over shared keys from several workers that are killed, stopped, and stopped and killed, while a
//! server of PostgreSQL crashes and starts again.
//!
//! Each case is asked for twice and again until its client is told what came of it. At the end each case has one row and one
//! entry, and all clients of a case were told the same. `IDEM_CHAOS_EFFECTS` and `IDEM_CHAOS_KILLS` make it longer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use idem::{ErrorKind, Idem};
use idem_system_tests::process::{self, Child};
use idem_system_tests::{PrivateServer, Restart, Sqlite, private_server};

use crate::stage::{BUSY, Database, Dice, Effects, PAYOUTS, no_effect_twice, on_the_named, pay};
use crate::support::Refund;

#[test]
fn child_process_entry() {
    process::host(&[("pays what it is told to", || on_the_named!(works))]);
}

/// Answers each case with the nonce that stands, or with the kind of an error.
async fn works<S: Effects>(idem: Idem<S>) {
    process::say("ready");
    loop {
        let case_id = process::hear();
        let said = match pay(&idem, &Refund::new(&case_id, 1), Duration::ZERO).await {
            Ok(done) => done.into_inner().nonce.to_string(),
            Err(error) => format!("{:?}", error.kind()),
        };
        process::say(said);
    }
}

#[test]
fn on_a_server_that_crashes_each_case_has_one_effect() {
    let server = private_server();
    let restarts = play(&server, |how| {
        server.restart(how);
        true
    });
    assert_eq!(restarts, RESTARTS);
}

#[test]
fn on_a_file_each_case_has_one_effect() {
    play(&Sqlite::fresh(), |_| false);
}

/// Returns how often the server was restarted.
fn play<D: Database>(database: &D, restart: impl Fn(Restart) -> bool + Send) -> usize {
    let effects = variable("IDEM_CHAOS_EFFECTS").unwrap_or(300);
    let kills = variable("IDEM_CHAOS_KILLS").unwrap_or(40);
    let idem = process::block_on(database.front(1));
    drop(idem);
    let chaos = Chaos {
        address: database.address(),
        kills_wanted: kills,
        open: AtomicUsize::new(COPIES * effects),
        wishes: Mutex::new((0..COPIES * effects).map(|number| number / COPIES).collect()),
        told: Mutex::default(),
        fates: Default::default(),
    };
    let restarts = std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let chaos = &chaos;
            scope.spawn(move || chaos.serve(&mut Dice::new(number + u64::from(std::process::id()))));
        }
        scope.spawn(|| chaos.restart(restart)).join().expect("no panic")
    });
    process::block_on(chaos.check::<D::Store>(effects));
    let [killed, continued, stopped_and_killed] = chaos.fates.map(AtomicU64::into_inner);
    eprintln!(
        "{effects} effects; {killed} killed, {continued} stopped and continued, {stopped_and_killed} stopped and killed, \
         {restarts} restarts"
    );
    assert!(killed + stopped_and_killed >= kills as u64);
    assert!(killed > 0 && continued > 0 && stopped_and_killed > 0);
    restarts
}

struct Chaos {
    address: String,
    kills_wanted: usize,
    /// Wishes that nobody has been told the outcome of.
    open: AtomicUsize,
    wishes: Mutex<VecDeque<usize>>,
    told: Mutex<BTreeMap<usize, Vec<u64>>>,
    /// Killed, stopped and continued, stopped and killed.
    fates: [AtomicU64; 3],
}

impl Chaos {
    fn start(&self) -> Child {
        let mut child = process::role("pays what it is told to")
            .with("DATABASE", &self.address)
            .start();
        // One that was started while the server was down may have ended.
        while child.line().is_none_or(|line| line != "ready") {
            child = process::role("pays what it is told to")
                .with("DATABASE", &self.address)
                .start();
        }
        child
    }

    fn serve(&self, dice: &mut Dice) {
        let mut worker = self.start();
        while self.open.load(Ordering::SeqCst) > 0 {
            let Some(case) = self.wishes().pop_front() else {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            };
            worker.tell(case);
            let Some(fate) = self.fate(dice) else {
                self.hear(&mut worker, case);
                continue;
            };
            std::thread::sleep(Duration::from_micros(dice.below(8000)));
            if fate != KILLED {
                worker.pause();
                std::thread::sleep(Duration::from_millis(dice.below(200)));
            }
            self.fates[fate].fetch_add(1, Ordering::SeqCst);
            if fate == CONTINUED {
                worker.resume();
                self.hear(&mut worker, case);
            } else {
                // Whatever it has said, nobody has heard it.
                worker.kill();
                self.wishes().push_back(case);
                worker = self.start();
            }
        }
    }

    /// By turns, so that each occurs; more often, the more kills are still wanted.
    fn fate(&self, dice: &mut Dice) -> Option<usize> {
        let [killed, continued, stopped_and_killed] = [0, 1, 2].map(|fate| self.fates[fate].load(Ordering::SeqCst));
        let kills = killed + stopped_and_killed;
        let wanted = (self.kills_wanted as u64).saturating_sub(kills);
        let left = self.open.load(Ordering::SeqCst) as u64 + 1;
        let turn = (kills + continued) % 4;
        (dice.below(left) < 3 * wanted).then(|| if turn < 2 { KILLED } else { turn as usize - 1 })
    }

    fn hear(&self, worker: &mut Child, case: usize) {
        let Some(line) = worker.line() else {
            // It fell over the restart of the server.
            *worker = self.start();
            return self.wishes().push_back(case);
        };
        let Ok(nonce) = line.parse() else {
            assert!(["InFlight", "Store"].contains(&line.as_str()), "case {case}: {line}");
            return self.wishes().push_back(case);
        };
        self.told.lock().expect("no panic").entry(case).or_default().push(nonce);
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    /// Restarts at even parts of the work, as after a crash and in order, by turns.
    fn restart(&self, restart: impl Fn(Restart) -> bool) -> usize {
        let all = self.open.load(Ordering::SeqCst);
        for part in 1..=RESTARTS {
            while self.open.load(Ordering::SeqCst) > all - all * part / (RESTARTS + 1) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let how = if part % 2 == 1 { Restart::Crash } else { Restart::Fast };
            if !restart(how) {
                return 0;
            }
        }
        RESTARTS
    }

    async fn check<S: Effects>(&self, effects: usize) {
        let idem = Idem::new(S::attach(&self.address, 1, BUSY).await);
        let told = self.told.lock().expect("no panic").clone();
        assert_eq!(told.len(), effects);
        for (case, nonces) in told {
            // A worker that was killed may have left its session behind for a moment.
            let done = loop {
                match pay(&idem, &Refund::new(&case.to_string(), 1), Duration::from_secs(5)).await {
                    Err(error) if error.kind() == ErrorKind::InFlight => {}
                    done => break done.expect("it stands"),
                }
            };
            assert!(done.is_replayed(), "case {case}");
            let stands = done.into_inner().nonce;
            assert_eq!(nonces, [stands; COPIES], "case {case}");
        }
        assert_eq!(idem.store().number(PAYOUTS).await, effects as i64);
        no_effect_twice(&idem).await;
    }

    fn wishes(&self) -> std::sync::MutexGuard<'_, VecDeque<usize>> {
        self.wishes.lock().expect("no panic")
    }
}

impl Database for PrivateServer {
    type Store = idem::PgStore;

    fn fresh() -> Self {
        private_server()
    }

    fn address(&self) -> String {
        self.url().to_owned()
    }
}

fn variable(name: &str) -> Option<usize> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

const KILLED: usize = 0;
const CONTINUED: usize = 1;
const WORKERS: u64 = 4;
const COPIES: usize = 2;
const RESTARTS: usize = 6;
