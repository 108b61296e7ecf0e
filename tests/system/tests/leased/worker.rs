//! What is killed: a process that makes calls as it is told, and says what came of them.

use std::time::Duration;

use idem::{Done, Error, ErrorKind, Idem, PgStore, Recovery, SqliteStore};
use idem_system_tests::points;
use idem_system_tests::process::{self, Child};

use crate::stage::{CREATE_PAYOUTS, Charge, Receipt, Stage, ask, front, parse_recovery, recovery_text};

pub const ROLE: &str = "a worker";
pub const PAYS_AND_HANGS: &str = "a worker that pays in a transaction and hangs";

/// How to start a worker.
#[derive(Clone, Debug)]
pub struct Orders {
    pub database: String,
    pub port: u16,
    pub lease: Duration,
    pub recovery: Recovery,
}

impl Orders {
    /// Starts a worker; it is ready for calls.
    pub fn start(&self) -> Child {
        self.start_for("-")
    }

    /// Starts a worker that stops for good at a point of the protocol.
    pub fn start_for(&self, point: &str) -> Child {
        let mut child = process::role(ROLE)
            .with("DATABASE", &self.database)
            .with("PORT", self.port)
            .with("LEASE", self.lease.as_millis())
            .with("RECOVERY", recovery_text(self.recovery))
            .with("POINT", point)
            .start();
        child.wait_for("ready");
        child
    }
}

/// Has a worker make a call, whose downstream takes `delay` to answer.
pub fn tell(child: &mut Child, input: &Charge, delay: Duration) {
    child.tell(format!("{} {} {}", input.order, input.cents, delay.as_millis()));
}

/// What a worker says of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Executed(Receipt),
    Replayed(Receipt),
    Refused(String),
}

/// Reads the answer to one call, and whose it is.
#[track_caller]
pub fn answer(child: &mut Child) -> (String, Answer) {
    let line = child.line().expect("a worker that was not killed goes on");
    let words: Vec<_> = line.split(' ').collect();
    let receipt = || Receipt {
        number: words[2].parse().expect("a number"),
        attempt: words[3].parse().expect("a number"),
        cents: words[4].parse().expect("a number"),
    };
    let answer = match words[1] {
        "executed" => Answer::Executed(receipt()),
        "replayed" => Answer::Replayed(receipt()),
        kind => Answer::Refused(kind.to_owned()),
    };
    (words[0].to_owned(), answer)
}

/// The role.
pub fn play() {
    let point = process::argument("POINT");
    if point != "-" {
        points::stop_at(&point, 1);
    }
    on_the_named(
        async |url| work(front::<PgStore>(url, lease()).await).await,
        async |url| {
            work(front::<SqliteStore>(url, lease()).await).await;
        },
    );
}

fn lease() -> Duration {
    Duration::from_millis(process::argument("LEASE").parse().expect("milliseconds"))
}

pub fn on_the_named(postgres: impl AsyncFnOnce(&str), sqlite: impl AsyncFnOnce(&str)) {
    let url = process::argument("DATABASE");
    process::block_on(async {
        if url.starts_with("sqlite:") {
            sqlite(&url).await;
        } else {
            postgres(&url).await;
        }
    });
}

async fn work<S: Stage>(idem: Idem<S>) {
    let port = process::argument("PORT").parse().expect("a port");
    let recovery = parse_recovery(&process::argument("RECOVERY"));
    process::say("ready");
    loop {
        let line = tokio::task::spawn_blocking(process::hear).await.expect("a line");
        let words: Vec<_> = line.split(' ').collect();
        let input = Charge::new(words[0], words[1].parse().expect("a number"));
        let delay = Duration::from_millis(words[2].parse().expect("milliseconds"));
        let idem = idem.clone();
        tokio::spawn(async move {
            let said = told(ask(&idem, &input, recovery, port, delay).await);
            process::say(format!("{} {said}", input.order));
        });
    }
}

fn told(answer: Result<Done<Receipt>, Error>) -> String {
    let text =
        |kind: &str, receipt: Receipt| format!("{kind} {} {} {}", receipt.number, receipt.attempt, receipt.cents);
    match answer {
        Ok(Done::Executed(receipt)) => text("executed", receipt),
        Ok(Done::Replayed(receipt)) => text("replayed", receipt),
        Err(error) => {
            if !matches!(error.kind(), ErrorKind::InFlight | ErrorKind::OutcomeUnknown) {
                eprintln!("{error:?}");
            }
            format!("{:?}", error.kind())
        }
    }
}

/// The role of a worker whose effect is in the transaction.
pub fn pay_and_hang() {
    on_the_named(
        async |url| hang(front::<PgStore>(url, lease()).await).await,
        async |url| hang(front::<SqliteStore>(url, lease()).await).await,
    );
}

async fn hang<S: Stage>(idem: Idem<S>) {
    idem.store().execute(CREATE_PAYOUTS).await.expect("created");
    let input = Charge::new("o-1", 1000);
    let order = input.order.clone();
    let done = idem.transaction(&input, async |tx: &mut S::Connection| {
        S::pay(tx, &order).await?;
        process::say("inside");
        std::future::pending::<()>().await;
        Ok(())
    });
    process::say(format!("went on to {:?}", done.await));
}
