//! A deploy that changes how a key is made: processes of the former build and of the changed one have the same effects, and
//! are killed while they do. `IDEM_CHAOS_EFFECTS` says how many effects.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem::{Done, Effect, Error, ErrorKind, FromType, Idem, Idempotent, PgStore, SqliteStore, TenantKnown, idempotent};
use idem_system_tests::process::{self, Child};
use idem_system_tests::{Postgres, Sqlite};
use serde::{Deserialize, Serialize};

use crate::crash::{LEASE, RERUN};
use crate::downstream::{Downstream, Memory, charge};
use crate::stage::{CREATE_PAYOUTS, Charge, Database, Dice, EXECUTED, PAYOUTS, Stage, front};
use crate::worker::on_the_named;

pub const ROLE: &str = "a worker of one build";

/// The type after the change; nobody passes its date.
#[idempotent(
    action = "card.charge",
    key = [tenant, order, currency],
    subject = order,
    previous = Charge,
    until = "9999-01-01",
)]
#[derive(Serialize, Deserialize)]
struct ChargeIn {
    tenant: String,
    order: String,
    currency: String,
    cents: i64,
}

/// The same type in a build whose date has passed.
#[idempotent(
    action = "card.charge",
    key = [tenant, order, currency],
    subject = order,
    previous = Charge,
    until = "2026-01-01",
)]
#[derive(Serialize, Deserialize)]
struct ChargeLater {
    tenant: String,
    order: String,
    currency: String,
    cents: i64,
}

impl From<&ChargeIn> for Charge {
    fn from(charge: &ChargeIn) -> Self {
        Self::new(&charge.order, charge.cents)
    }
}

impl From<&ChargeLater> for Charge {
    fn from(charge: &ChargeLater) -> Self {
        Self::new(&charge.order, charge.cents)
    }
}

/// Orders that begin so are paid in a transaction; the others are charged outside.
const PAID: &str = "paid";
const ALIASES: &str = "SELECT count(*) FROM idem_ledger WHERE kind = 'aliased'";

/// Makes one call by the definition of a build.
async fn act<S: Stage>(idem: &Idem<S>, build: &str, order: &str, port: u16) -> Result<Done<u64>, Error> {
    let (tenant, order, currency, cents) = ("acme".to_owned(), order.to_owned(), "EUR".to_owned(), 1000);
    match build {
        "former" => run(idem, &Charge::new(&order, cents), &order, port).await,
        "changed" => {
            let input = ChargeIn {
                tenant,
                order: order.clone(),
                currency,
                cents,
            };
            run(idem, &input, &order, port).await
        }
        _ => {
            let input = ChargeLater {
                tenant,
                order: order.clone(),
                currency,
                cents,
            };
            run(idem, &input, &order, port).await
        }
    }
}

async fn run<S: Stage, I: Idempotent + TenantKnown<FromType>>(
    idem: &Idem<S>,
    input: &I,
    order: &str,
    port: u16,
) -> Result<Done<u64>, Error> {
    if order.starts_with(PAID) {
        return idem
            .transaction(input, async |tx: &mut S::Connection| {
                S::pay(tx, order).await?;
                Ok(0)
            })
            .await;
    }
    let effect = async move |effect: Effect| charge(port, &effect.downstream_key().to_string(), Duration::ZERO).await;
    idem.run(input, RERUN, effect).await
}

async fn until_answered<S: Stage>(idem: &Idem<S>, build: &str, order: &str, port: u16) -> Result<Done<u64>, Error> {
    for _ in 0..200 {
        match act(idem, build, order, port).await {
            Err(error) if matches!(error.kind(), ErrorKind::InFlight | ErrorKind::Store) => {
                let after = error.retry_after().unwrap_or(Duration::from_millis(50));
                tokio::time::sleep(after.min(Duration::from_millis(100))).await;
            }
            answer => return answer,
        }
    }
    panic!("{order} is in flight for ever");
}

/// The role.
pub fn play() {
    on_the_named(
        async |url| work(front::<PgStore>(url, LEASE).await).await,
        async |url| work(front::<SqliteStore>(url, LEASE).await).await,
    );
}

async fn work<S: Stage>(idem: Idem<S>) {
    let (build, port) = (process::argument("BUILD"), process::argument("PORT"));
    let port = port.parse().expect("a port");
    process::say("ready");
    loop {
        let order = process::hear();
        let said = match until_answered(&idem, &build, &order, port).await {
            Ok(Done::Executed(_)) => "executed".to_owned(),
            Ok(Done::Replayed(_)) => "replayed".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        process::say(said);
    }
}

struct Deploy {
    database: String,
    port: u16,
    executed: AtomicU32,
    kills: AtomicU32,
}

impl Deploy {
    fn start(&self, build: &str) -> Child {
        let mut child = process::role(ROLE)
            .with("DATABASE", &self.database)
            .with("BUILD", build)
            .with("PORT", self.port)
            .start();
        child.wait_for("ready");
        child
    }

    /// Has a process of this build do what there is to do, kills it now and then and starts another.
    fn serve(&self, build: &str, orders: &Mutex<VecDeque<String>>, dice: &mut Dice) {
        let mut child = self.start(build);
        loop {
            let Some(order) = orders.lock().expect("nobody panics").pop_front() else {
                return;
            };
            child.tell(&order);
            if dice.below(40) == 0 {
                std::thread::sleep(dice.within(Duration::from_millis(8)));
                child.kill();
                self.kills.fetch_add(1, Ordering::SeqCst);
                orders.lock().expect("nobody panics").push_back(order);
                child = self.start(build);
                continue;
            }
            match child.line().expect("it was not killed").as_str() {
                "executed" => drop(self.executed.fetch_add(1, Ordering::SeqCst)),
                "replayed" => {}
                error => panic!("{build}, {order}: {error}"),
            }
        }
    }
}

fn deploy<D: Database>() {
    let effects: u32 = std::env::var("IDEM_CHAOS_EFFECTS").map_or(1000, |text| text.parse().expect("a number"));
    let database = D::fresh();
    let downstream = Downstream::start(Memory::Always);
    let deploy = Deploy {
        database: database.address(),
        port: downstream.port(),
        executed: AtomicU32::new(0),
        kills: AtomicU32::new(0),
    };
    process::block_on(async {
        let idem = front::<D::Store>(&deploy.database, LEASE).await;
        idem.store().execute(CREATE_PAYOUTS).await.expect("created");
    });
    let orders: Vec<_> = (0..effects)
        .map(|number| match number % 2 {
            0 => format!("{PAID}-{number}"),
            _ => format!("charged-{number}"),
        })
        .collect();
    // Each build is asked for each order, in an order of its own.
    let shuffled = |seed| {
        let (mut dice, mut orders) = (Dice::new(seed), orders.clone());
        for last in (1..orders.len()).rev() {
            let other = dice.below(last as u64 + 1);
            orders.swap(last, usize::try_from(other).expect("an index"));
        }
        Mutex::new(VecDeque::from(orders))
    };
    let builds = [("former", shuffled(1)), ("changed", shuffled(2))];
    std::thread::scope(|scope| {
        for (build, orders) in &builds {
            for seed in 3..5 {
                let deploy = &deploy;
                scope.spawn(move || deploy.serve(build, orders, &mut Dice::new(seed)));
            }
        }
    });
    process::block_on(async {
        let idem = front::<D::Store>(&deploy.database, LEASE).await;
        let paid = i64::from(effects).div_euclid(2) + i64::from(effects % 2);
        let charged = u32::try_from(i64::from(effects) - paid).expect("a count");
        let books = async |when: &str| {
            let store = idem.store();
            assert_eq!(store.number(PAYOUTS).await, paid, "{when}");
            assert_eq!(store.number(EXECUTED).await, i64::from(effects), "{when}");
            assert_eq!(downstream.total().charges, charged, "{when}");
        };
        books("both builds have run").await;
        let aliases = idem.store().number(ALIASES).await;
        assert!(aliases > 0, "no effect was first claimed by the changed build");
        eprintln!(
            "{effects} effects, {} told as executed, {aliases} first claimed by the changed build, {} kills",
            deploy.executed.load(Ordering::SeqCst),
            deploy.kills.load(Ordering::SeqCst)
        );
        // After the date, what the changed build has claimed is found under the new key alone.
        let mut followed = 0;
        for order in &orders {
            let key = idem::IdempotencyKey::derive(&ChargeLater {
                tenant: "acme".into(),
                order: order.clone(),
                currency: "EUR".into(),
                cents: 1000,
            });
            let view = idem::Store::view(idem.store(), &key.expect("a key"), None).await;
            if view.expect("it can be read").alias().is_some() {
                followed += 1;
                let answer = act(&idem, "later", order, deploy.port).await.expect("recorded");
                assert!(matches!(answer, Done::Replayed(_)), "{order}");
            }
        }
        assert_eq!(followed, aliases);
        books("the date has passed").await;
    });
}

#[test]
fn postgres_has_each_effect_once_under_two_definitions_of_its_key() {
    deploy::<Postgres>();
}

#[test]
fn sqlite_has_each_effect_once_under_two_definitions_of_its_key() {
    deploy::<Sqlite>();
}
