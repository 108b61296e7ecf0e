//! Connections that break at each statement, before PostgreSQL gets it and after it has answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem::{Begun, Done, Error, ErrorKind, Idem, PgStore};
use idem_system_tests::wire::{At, Proxy};
use idem_system_tests::{Postgres, postgres};
use sqlx::PgConnection;
use sqlx::postgres::PgPoolOptions;

use crate::stage::{Database, EXECUTED, Effects, PAYOUTS, nothing_stands, pay, payout};
use crate::support::{Receipt, Refund};

/// The statements of a call, in order.
const BEGIN: &str = "BEGIN";
const CLAIM: &str = "WITH held";
const EFFECT: &str = "INSERT INTO payouts";
const COMPLETION: &str = "WITH completed";
const COMMIT: &str = "COMMIT";

fn sides(statement: &'static str) -> [(&'static str, bool); 2] {
    [(statement, false), (statement, true)]
}

fn at((statement, after): (&'static str, bool)) -> At {
    if after {
        At::after(statement)
    } else {
        At::before(statement)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_survives_a_cut_at_each_statement() {
    let scene = Scene::new().await;
    for place in [BEGIN, CLAIM, EFFECT, COMPLETION, COMMIT].map(sides).concat() {
        let refund = scene.warm().await;
        scene.wire.cut(at(place));
        let done = pay(&scene.idem, &refund, Duration::ZERO).await;
        assert!(scene.wire.has_struck(), "{place:?} was not reached");
        let done = done.unwrap_or_else(|error| panic!("cut at {place:?}: {error:?}"));
        // What was committed is never run again, and what was not is.
        assert_eq!(done.is_replayed(), place == (COMMIT, true), "cut at {place:?}");
        scene.one_effect_of(&refund, done.get()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_runs_once_leaves_a_cut_to_the_next_call() {
    let scene = Scene::new().await;
    for place in [BEGIN, CLAIM, EFFECT, COMPLETION, COMMIT].map(sides).concat() {
        let refund = scene.warm().await;
        scene.wire.cut(at(place));
        let mut ran = 0;
        let done = scene
            .idem
            .call(&refund)
            .transaction_once(async |tx: &mut PgConnection| {
                ran += 1;
                payout::<PgStore>(tx, &refund).await
            })
            .await;
        assert!(scene.wire.has_struck(), "{place:?} was not reached");
        assert!(ran <= 1);
        match place {
            // The effect is not used up yet.
            (BEGIN | CLAIM, _) => {
                let done = done.unwrap_or_else(|error| panic!("cut at {place:?}: {error:?}"));
                scene.one_effect_of(&refund, done.get()).await;
            }
            _ => {
                scene.retryable(place, done);
                scene.the_next_call_finds_out(place, &refund).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_leaves_a_cut_to_the_next_call() {
    let scene = Scene::new().await;
    for place in [EFFECT, COMPLETION, COMMIT].map(sides).concat() {
        let refund = scene.warm().await;
        let Ok(Begun::Execute(mut guard)) = scene.idem.call(&refund).begin::<Receipt>().await else {
            panic!("a new key is claimed");
        };
        scene.wire.cut(at(place));
        let receipt = payout::<PgStore>(guard.connection(), &refund).await;
        if place.0 == EFFECT {
            receipt.expect_err("the connection was cut under it");
            drop(guard);
        } else {
            let done = guard.complete(receipt.expect("the effect")).await;
            scene.retryable(place, done);
        }
        assert!(scene.wire.has_struck(), "{place:?} was not reached");
        scene.the_next_call_finds_out(place, &refund).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_error_survives_a_cut_of_the_transaction_that_records_it() {
    let scene = Scene::new().await;
    for place in [COMPLETION, COMMIT].map(sides).concat() {
        let refund = scene.warm().await;
        scene.wire.cut(at(place));
        let error = scene
            .idem
            .transaction(&refund, async |tx: &mut PgConnection| {
                payout::<PgStore>(tx, &refund).await?;
                Err::<Receipt, _>(idem::EffectError::final_("no"))
            })
            .await
            .expect_err("it is declined");
        assert!(scene.wire.has_struck(), "{place:?} was not reached");
        assert_eq!(
            error.declined::<String>().as_deref(),
            Some("no"),
            "cut at {place:?}: {error:?}"
        );
        let again = pay(&scene.idem, &refund, Duration::ZERO)
            .await
            .expect_err("it stays declined");
        assert_eq!(again.kind(), ErrorKind::Declined);
    }
}

/// What the client has lost goes on in PostgreSQL, which does not look at the connection while a statement runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orphan_that_still_runs_is_waited_for() {
    let scene = Scene::new().await;
    let refund = scene.warm().await;
    let attempts = AtomicUsize::new(0);
    let call = scene.idem.transaction(&refund, async |tx: &mut PgConnection| {
        let receipt = payout::<PgStore>(tx, &refund).await?;
        if attempts.fetch_add(1, Ordering::SeqCst) == 0 {
            sqlx::query("SELECT pg_sleep(1)").execute(tx).await?;
        }
        Ok(receipt)
    });
    let (done, ()) = tokio::join!(call, scene.sever_during("SELECT pg_sleep(1)"));
    let done = done.expect("it is run again");
    assert!(!done.is_replayed());
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
    scene.one_effect_of(&refund, done.get()).await;
}

/// A COMMIT whose client is gone takes its time and succeeds: a bare read would not see it yet, and run the effect again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_still_under_way_is_waited_for() {
    let scene = Scene::new().await;
    let refund = scene.warm().await;
    for statement in [
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON payouts DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION slow()",
    ] {
        let pool = scene.direct.store().pool();
        sqlx::query(statement).execute(pool).await.expect("made");
    }
    let attempts = AtomicUsize::new(0);
    let call = scene.idem.transaction(&refund, async |tx: &mut PgConnection| {
        attempts.fetch_add(1, Ordering::SeqCst);
        payout::<PgStore>(tx, &refund).await
    });
    let (done, ()) = tokio::join!(call, scene.sever_during("COMMIT"));
    let done = done.expect("it is found");
    assert!(done.is_replayed());
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
    scene.one_effect_of(&refund, done.get()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_refuses_connections_is_a_retryable_error_and_nothing_runs() {
    let database = postgres();
    let direct = database.front(1).await;
    let wire = database.wire();
    let pool = PgPoolOptions::new()
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(1))
        .connect(wire.url())
        .await
        .expect("connected");
    let idem = Idem::new(PgStore::new(pool));
    let refund = Refund::new("case-7", 1000);
    wire.refuse(true);
    wire.sever();
    let before = Instant::now();
    let mut ran = 0;
    for attempt in 0..3 {
        let error = idem
            .call(&refund)
            .transaction_once(async |tx: &mut PgConnection| {
                ran += 1;
                payout::<PgStore>(tx, &refund).await
            })
            .await
            .expect_err("nobody answers");
        assert_eq!(error.kind(), ErrorKind::Store, "{attempt}: {error:?}");
        assert!(error.is_retryable(), "{attempt}: {error:?}");
        let error = pay(&idem, &refund, Duration::ZERO).await.expect_err("nobody answers");
        assert_eq!(error.kind(), ErrorKind::Store, "{attempt}: {error:?}");
        assert!(error.is_retryable(), "{attempt}: {error:?}");
    }
    assert!(before.elapsed() < Duration::from_secs(12), "{:?}", before.elapsed());
    assert_eq!(ran, 0);
    nothing_stands(&direct).await;

    wire.refuse(false);
    let done = pay(&idem, &refund, Duration::ZERO).await.expect("it is back");
    assert!(!done.is_replayed());
}

/// A front door behind a wire, and one beside it.
struct Scene {
    idem: Idem<PgStore>,
    direct: Idem<PgStore>,
    wire: Proxy,
    calls: AtomicUsize,
    _database: Postgres,
}

impl Scene {
    async fn new() -> Self {
        let database = postgres();
        let direct = database.front(2).await;
        let wire = database.wire();
        let idem = Idem::new(PgStore::new(wire.pool(2).await));
        Self {
            idem,
            direct,
            wire,
            calls: AtomicUsize::new(0),
            _database: database,
        }
    }

    /// Has a connection that knows all statements, and returns what is to be called next.
    async fn warm(&self) -> Refund {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let other = Refund::new(&format!("warm-{number}"), 1);
        pay(&self.idem, &other, Duration::ZERO)
            .await
            .expect("a warm connection");
        Refund::new(&format!("case-{number}"), 1000)
    }

    /// Cuts all connections of clients while PostgreSQL runs a statement.
    async fn sever_during(&self, statement: &str) {
        let pool = self.direct.store().pool();
        loop {
            let running: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state = 'active' AND query = $1",
            )
            .bind(statement)
            .fetch_one(pool)
            .await
            .expect("read");
            if running > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.wire.sever();
    }

    fn retryable(&self, place: (&str, bool), done: Result<Done<Receipt>, Error>) {
        let error = done.expect_err("the answer was lost");
        assert_eq!(error.kind(), ErrorKind::Store, "cut at {place:?}: {error:?}");
        assert!(error.is_retryable(), "cut at {place:?}: {error:?}");
    }

    async fn the_next_call_finds_out(&self, place: (&str, bool), refund: &Refund) {
        // The server may take a moment to notice that the client is gone.
        let done = pay(&self.idem, refund, Duration::from_secs(5)).await;
        let done = done.unwrap_or_else(|error| panic!("after a cut at {place:?}: {error:?}"));
        assert_eq!(done.is_replayed(), place == (COMMIT, true), "after a cut at {place:?}");
        self.one_effect_of(refund, done.get()).await;
    }

    async fn one_effect_of(&self, refund: &Refund, receipt: &Receipt) {
        let nonces: Vec<i64> = sqlx::query_scalar("SELECT nonce FROM payouts WHERE case_id = $1")
            .bind(&refund.case_id)
            .fetch_all(self.direct.store().pool())
            .await
            .expect("read");
        assert_eq!(nonces, [i64::try_from(receipt.nonce).expect("nonces are small")]);
        assert_eq!(
            self.direct.store().number(EXECUTED).await,
            self.direct.store().number(PAYOUTS).await
        );
    }
}
