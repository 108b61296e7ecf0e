//! Many calls over shared keys from several workers that are killed, stopped, stopped and killed, and cut off from their
//! database at random, while the database itself may crash and start again.
//!
//! Each order is asked for twice, at about the same time, and again until its client is told what came of it; a client
//! whose worker was killed knows nothing and asks again. At the end every order is completed or unknown, what is unknown
//! is looked up in the downstream's books and resolved, and then no card is charged twice, no two clients of an order
//! were told different receipts, and the ledger agrees.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `IDEM_CHAOS_EFFECTS` | orders per database and mode | 300 |
//! | `IDEM_CHAOS_KILLS` | SIGKILLs per database and mode, at least | 40 |
//! | `IDEM_CHAOS_SEED` | for the fates of the workers | drawn, and printed |

mod fate;
mod reckoning;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem::Recovery;
use idem_system_tests::process::Child;
use idem_system_tests::{Postgres, PrivateServer, Sqlite, process};

use crate::crash::RERUN;
use crate::downstream::{Downstream, Memory};
use crate::stage::{Charge, Database, Dice, Stage, front};
use crate::worker::{Answer, Orders, answer};

/// What is declared, and what the downstream really does.
struct Mode {
    name: &'static str,
    recovery: Recovery,
    memory: Memory,
    /// Orders that a worker has at once. One, where each kill may leave one unknown outcome.
    batch: usize,
    /// How long a client waits before it asks again, at most.
    patience: Duration,
}

const LEASE: Duration = Duration::from_millis(400);
/// A worker that is stopped between its claim and its call calls so much later. The downstream's memory has to be that much
/// longer than what is declared.
const LONGEST_STOP: Duration = Duration::from_millis(1000);
const HORIZON: Duration = Duration::from_millis(1500);
const FORGETS: Duration = Duration::from_millis(6000);

const KNOWS: Mode = Mode {
    name: "rerun, the downstream knows its keys",
    recovery: RERUN,
    memory: Memory::Always,
    batch: 4,
    patience: Duration::from_millis(100),
};

const FORGETFUL: Mode = Mode {
    name: "rerun, the downstream forgets",
    recovery: Recovery::Rerun {
        remembered_for: HORIZON,
    },
    memory: Memory::For(FORGETS),
    batch: 4,
    patience: Duration::from_millis(2500),
};

const HOLD: Mode = Mode {
    name: "hold, the downstream knows nothing",
    recovery: Recovery::Hold,
    memory: Memory::Never,
    batch: 1,
    patience: Duration::from_millis(100),
};

mod postgres {
    use super::*;

    #[test]
    fn with_rerun_and_a_downstream_that_knows_its_keys() {
        play::<Postgres>(&KNOWS);
    }

    #[test]
    fn with_rerun_and_a_downstream_that_forgets() {
        play::<Postgres>(&FORGETFUL);
    }

    #[test]
    fn with_hold_and_a_downstream_that_knows_nothing() {
        play::<Postgres>(&HOLD);
    }
}

/// On a server of its own, which crashes and is restarted in the middle of the work.
mod postgres_restarted {
    use super::*;

    #[test]
    fn with_rerun_and_a_downstream_that_knows_its_keys() {
        assert_eq!(play::<PrivateServer>(&KNOWS), fate::RESTARTS);
    }

    #[test]
    fn with_hold_and_a_downstream_that_knows_nothing() {
        assert_eq!(play::<PrivateServer>(&HOLD), fate::RESTARTS);
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn with_rerun_and_a_downstream_that_knows_its_keys() {
        play::<Sqlite>(&KNOWS);
    }

    #[test]
    fn with_rerun_and_a_downstream_that_forgets() {
        play::<Sqlite>(&FORGETFUL);
    }

    #[test]
    fn with_hold_and_a_downstream_that_knows_nothing() {
        play::<Sqlite>(&HOLD);
    }
}

const WORKERS: usize = 4;
/// How often each order is asked for.
const COPIES: usize = 2;
/// What a downstream takes to answer, at most.
const DELAY: Duration = Duration::from_millis(30);
/// When a worker is killed or stopped after it was told its orders, at most.
const FATE: Duration = Duration::from_millis(30);
/// All connections to PostgreSQL break at least this often.
const BETWEEN_CUTS: Duration = Duration::from_millis(4000);

/// Returns how often the server was restarted.
fn play<D: Database>(mode: &Mode) -> u64 {
    let effects = variable("IDEM_CHAOS_EFFECTS").unwrap_or(300);
    let kills = variable("IDEM_CHAOS_KILLS").unwrap_or(40);
    let seed = variable("IDEM_CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()) ^ nanoseconds());
    let on = std::any::type_name::<D>().rsplit("::").next().unwrap_or_default();
    eprintln!("{on}, {}: seed {seed}", mode.name);
    let started = Instant::now();

    let database = D::fresh();
    let downstream = Downstream::start(mode.memory);
    let orders = Orders {
        database: database.address(),
        port: downstream.port(),
        lease: LEASE,
        recovery: mode.recovery,
    };
    let idem = process::block_on(front::<D::Store>(&orders.database, LEASE));
    drop(idem);

    let chaos = Chaos::new(mode, usize::try_from(effects).expect("a number"), kills, orders);
    std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let (chaos, seed) = (&chaos, seed.wrapping_add(number as u64));
            scope.spawn(move || chaos.serve(&mut Dice::new(seed)));
        }
        scope.spawn(|| chaos.restart(&database));
        scope.spawn(|| process::block_on(chaos.cut::<D::Store>(&mut Dice::new(!seed))));
    });
    let ran = started.elapsed();
    process::block_on(async {
        let idem = front::<D::Store>(&chaos.orders.database, LEASE).await;
        let unknown = chaos.settle(&idem, &downstream).await;
        chaos.check(&idem, &downstream, unknown).await;
        chaos.print(on, &downstream, unknown, ran);
    });
    chaos.counts.restarts.load(Ordering::SeqCst)
}

/// One client's wish that is to be sent again.
struct Wish {
    order: usize,
    not_before: Instant,
}

struct Chaos<'m> {
    mode: &'m Mode,
    orders: Orders,
    effects: usize,
    kills_wanted: u64,
    wishes: Mutex<VecDeque<usize>>,
    /// Wishes that were sent and not answered, to be sent again.
    retries: Mutex<Vec<Wish>>,
    open: AtomicUsize,
    told: Mutex<BTreeMap<usize, Vec<Answer>>>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    kills: AtomicU64,
    /// Workers that are to be killed, of which every eighth is stopped before.
    doomed: AtomicU64,
    /// Of the kills, those of workers that were stopped.
    stopped_kills: AtomicU64,
    stops: AtomicU64,
    restarts: AtomicU64,
    cuts: AtomicU64,
    executed: AtomicU64,
    replayed: AtomicU64,
    asked_again: AtomicU64,
    unknown: AtomicU64,
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl<'m> Chaos<'m> {
    fn new(mode: &'m Mode, effects: usize, kills_wanted: u64, orders: Orders) -> Self {
        // Copies stand beside each other, so that they meet.
        let wishes = (0..effects * COPIES).map(|number| number / COPIES);
        Self {
            mode,
            orders,
            effects,
            kills_wanted,
            wishes: Mutex::new(wishes.collect()),
            retries: Mutex::default(),
            open: AtomicUsize::new(effects * COPIES),
            told: Mutex::default(),
            counts: Counts::default(),
        }
    }

    /// Breaks the connections of all workers from time to time, where there is a server to do it.
    async fn cut<S: Stage>(&self, dice: &mut Dice) {
        let store = S::attach(&self.orders.database).await;
        while self.open.load(Ordering::SeqCst) > 0 && store.cut().await {
            add(&self.counts.cuts);
            tokio::time::sleep(dice.within(BETWEEN_CUTS)).await;
        }
    }

    /// Different orders whose time has come, those first that were sent before.
    fn take(&self) -> Vec<usize> {
        let (now, mut batch) = (Instant::now(), Vec::new());
        self.retries.lock().expect("no panic").retain(|wish| {
            let taken = batch.len() < self.mode.batch && wish.not_before <= now && !batch.contains(&wish.order);
            if taken {
                batch.push(wish.order);
            }
            !taken
        });
        let mut wishes = self.wishes.lock().expect("no panic");
        while batch.len() < self.mode.batch {
            match wishes.pop_front() {
                Some(order) if !batch.contains(&order) => batch.push(order),
                Some(order) => {
                    wishes.push_front(order);
                    break;
                }
                None => break,
            }
        }
        batch
    }

    fn again(&self, order: usize, dice: &mut Dice) {
        let not_before = Instant::now() + dice.within(self.mode.patience);
        let mut retries = self.retries.lock().expect("no panic");
        retries.push(Wish { order, not_before });
    }

    fn hear(&self, worker: &mut Child, dice: &mut Dice) {
        let (order, answer) = answer(worker);
        let order = number_of(&order);
        match &answer {
            Answer::Executed(_) => add(&self.counts.executed),
            Answer::Replayed(_) => add(&self.counts.replayed),
            Answer::Refused(kind) if kind == "OutcomeUnknown" => add(&self.counts.unknown),
            Answer::Refused(kind) => {
                assert!(
                    ["InFlight", "Store", "LostClaim"].contains(&kind.as_str()),
                    "order {order} was answered with {kind}"
                );
                add(&self.counts.asked_again);
                return self.again(order, dice);
            }
        }
        self.told
            .lock()
            .expect("no panic")
            .entry(order)
            .or_default()
            .push(answer);
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn charge(order: usize) -> Charge {
    Charge::new(&format!("o-{order}"), 1000 + order as i64)
}

fn number_of(order: &str) -> usize {
    order
        .strip_prefix("o-")
        .and_then(|number| number.parse().ok())
        .expect("an order")
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn nanoseconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.expect("a clock past 1970").subsec_nanos())
}
