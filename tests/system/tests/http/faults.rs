//! Stores that do not answer, and records that have expired.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use http::StatusCode;
use idem::tower::{Failure, Profile, Tx};
use idem::{CallConcluded, Conclusion, Idem, Observer, PgStore, Recovery, Settings};
use idem_system_tests::wire::At;
use sqlx::postgres::PgPoolOptions;

use crate::stage::*;

/// What an observer was told.
#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn settings(&self) -> Settings {
        Settings::default().observer(Arc::new(self.clone()))
    }
}

impl Observer for Told {
    fn concluded(&self, call: &CallConcluded<'_>) {
        if !matches!(call.conclusion, Conclusion::Executed | Conclusion::Replayed) {
            self.0.lock().unwrap().push(call.conclusion.as_str().to_owned());
        }
    }

    fn failed_open(&self, action: &str) {
        self.0.lock().unwrap().push(format!("failed open {action}"));
    }

    fn unused_transaction(&self, action: &str) {
        self.0.lock().unwrap().push(format!("unused {action}"));
    }
}

/// A store whose server cannot be reached.
fn unreachable() -> PgStore {
    let pool = PgPoolOptions::new()
        .acquire_timeout(Duration::from_millis(300))
        .connect_lazy("postgres://nobody@127.0.0.1:1/none")
        .unwrap();
    PgStore::new(pool)
}

#[tokio::test]
async fn h109_b30_without_its_store_nothing_runs() {
    let services = [
        Service::start(&leased(unreachable(), RERUN).build().unwrap(), created).await,
        Service::start(&transactional(unreachable()).build().unwrap(), created).await,
        Service::start(
            &leased(unreachable(), RERUN)
                .store_timeout(Duration::from_millis(50))
                .build()
                .unwrap(),
            created,
        )
        .await,
    ];
    for service in services {
        let reply = service.post("/x").key("k").json("{}").send().await;
        let problem = reply.problem("store-unavailable", 503);
        assert!(reply.headers.contains_key("retry-after") && problem["retryable"] == true);
        assert_eq!(service.runs.get(), 0);
        // A request without protection is not held up.
        service.ask(http::Method::GET, "/x").send().await.is(201);
    }
}

#[tokio::test]
async fn h110_b30_fail_open_is_asked_for_marked_and_told() {
    let told = Told::default();
    let front = Idem::with_settings(unreachable(), told.settings()).unwrap();
    let layer = leased(front, RERUN).fail_open().build().unwrap();
    let service = Service::start(&layer, created).await;
    for run in 1..=2 {
        let reply = service.post("/x").key("k").json("{}").send().await;
        assert_eq!(reply.is(201).fresh().text(), format!("run {run}"));
        assert_eq!(reply.header("idempotency-failed-open"), Some("true"));
    }
    let opened = told
        .all()
        .iter()
        .filter(|told| *told == "failed open POST /{*rest}")
        .count();
    assert_eq!(opened, 2, "{:?}", told.all());
    // What is wrong with the request is refused as ever.
    service
        .post("/x")
        .key("a,b")
        .json("{}")
        .send()
        .await
        .problem("key-invalid", 400);
}

#[tokio::test]
async fn h103_b30_a_success_that_cannot_be_recorded_is_a_success_all_the_same() {
    let stage = SqliteStage::fresh().await;
    let told = Told::default();
    let lease = Duration::from_secs(5);
    let front = Idem::with_settings(stage.store(), told.settings().lease(lease)).unwrap();
    let layer = leased(front, RERUN).build().unwrap();
    let pool = stage.store().pool().clone();
    let service = Service::start(&layer, move |run, _: Request| {
        let pool = pool.clone();
        async move {
            if run == 1 {
                // From here on the store takes no completion.
                let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON idem_record WHEN NEW.status = 1
                    BEGIN SELECT RAISE(ABORT, 'out of order'); END";
                sqlx::query(refuse).execute(&pool).await.unwrap();
            }
            (StatusCode::CREATED, format!("run {run}"))
        }
    })
    .await;
    let ask = || service.post("/x").key("k").json("{}");
    let first = ask().send().await;
    assert_eq!(
        first.is(201).fresh().text(),
        "run 1",
        "it goes out while its record is still tried"
    );
    ask().send().await.problem("in-flight", 409);
    layer.drain(Duration::from_secs(30)).await;
    assert!(told.all().contains(&"unknown".to_owned()), "{:?}", told.all());
    sqlx::query("DROP TRIGGER refuse")
        .execute(stage.store().pool())
        .await
        .unwrap();
    stage.pass(Duration::from_secs(60)).await;
    // After the lease the recovery decides: the downstream knows the key.
    assert_eq!(ask().send().await.is(201).fresh().text(), "run 2");
    ask().send().await.is(201).replayed();
}

#[tokio::test]
async fn h102_a_commit_whose_answer_is_lost_is_decided_by_the_next_attempt() {
    for committed in [true, false] {
        let stage = PostgresStage::fresh().await;
        let wire = stage.database().wire();
        let wire = Arc::new(wire);
        let store = PgStore::new(wire.pool(2).await).open().await.unwrap();
        let layer = transactional(store).build().unwrap();
        let armed = wire.clone();
        let service = Service::start(&layer, move |run, mut request: Request| {
            let armed = armed.clone();
            async move {
                let mut tx = Tx::<PgStore>::take(request.extensions_mut()).unwrap();
                PostgresStage::insert(tx.connection()).await.unwrap();
                if run == 1 {
                    armed.cut(if committed {
                        At::after("COMMIT")
                    } else {
                        At::before("COMMIT")
                    });
                }
                (StatusCode::CREATED, format!("run {run}"))
            }
        })
        .await;
        let undecided = service.post("/x").key("k").json("{}").send().await;
        undecided.problem("store-unavailable", 503);
        assert!(undecided.headers.contains_key("retry-after"));
        let reply = service.post("/x").key("k").json("{}").send().await;
        match committed {
            true => assert_eq!(reply.is(201).replayed().text(), "run 1"),
            false => assert_eq!(reply.is(201).fresh().text(), "run 2"),
        }
        assert_eq!(stage.rows().await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h101_a_serialisation_failure_at_commit_undoes_effect_and_record() {
    let stage = PostgresStage::fresh().await;
    let pool = stage.store().pool().clone();
    sqlx::raw_sql(
        "CREATE TABLE counters (id int PRIMARY KEY, n int); INSERT INTO counters VALUES (1, 0), (2, 0);
         DO $$ BEGIN
           EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
         END $$",
    )
    .execute(&pool)
    .await
    .unwrap();
    let wire = Arc::new(stage.database().wire());
    let store = PgStore::new(wire.pool(2).await).open().await.unwrap();
    let layer = transactional(store).build().unwrap();
    let armed = wire.clone();
    let service = Service::start(&layer, move |run, mut request: Request| {
        let armed = armed.clone();
        async move {
            let mut tx = Tx::<PgStore>::take(request.extensions_mut()).unwrap();
            sqlx::query("UPDATE counters SET n = n + (SELECT n + 1 FROM counters WHERE id = 2) WHERE id = 1")
                .execute(tx.connection())
                .await?;
            if run == 1 {
                armed.hold(At::before("COMMIT"));
            }
            Ok::<_, Failure>((StatusCode::CREATED, format!("run {run}")))
        }
    })
    .await;
    let undone = service.post("/x").key("k").json("{}");
    let rival = async {
        let struck = wire.clone();
        tokio::task::spawn_blocking(move || struck.wait_struck()).await.unwrap();
        // Reads what that one writes and writes what it reads, and commits first: no order of the two makes both right.
        sqlx::raw_sql(
            "BEGIN ISOLATION LEVEL SERIALIZABLE;
             UPDATE counters SET n = n + (SELECT n + 1 FROM counters WHERE id = 1) WHERE id = 2;
             COMMIT",
        )
        .execute(&pool)
        .await
        .unwrap();
        wire.release();
    };
    let (undone, ()) = tokio::join!(undone.send(), rival);
    undone.problem("store-unavailable", 503);
    assert!(undone.headers.contains_key("retry-after"));
    let records: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(records, 0, "no record without its effect");
    let again = service.post("/x").key("k").json("{}").send().await;
    assert_eq!(again.is(201).fresh().text(), "run 2");
    service.post("/x").key("k").json("{}").send().await.is(201).replayed();
    let counts: Vec<i32> = sqlx::query_scalar("SELECT n FROM counters ORDER BY id")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(counts, [2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn h109_a_claim_that_comes_too_late_does_not_stay() {
    let stage = PostgresStage::fresh().await;
    let wire = Arc::new(stage.database().wire());
    let store = PgStore::new(wire.pool(2).await).open().await.unwrap();
    // Prepares the statements of both connections.
    let warm = leased(store.clone(), Recovery::Hold).build().unwrap();
    let warm = Service::start(&warm, created).await;
    for key in ["w1", "w2", "w3"] {
        warm.post("/x").key(key).json("{}").send().await.is(201);
    }
    let layer = leased(store, Recovery::Hold)
        .store_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    // The claim is committed, and its answer comes when the client has been told that there is none.
    wire.hold(At::after("COMMIT"));
    // Nor is a repeat told that its request is in progress, as long as the claim is not given back.
    for _ in 0..2 {
        let reply = service.post("/x").key("k").json("{}").send().await;
        reply.problem("store-unavailable", 503);
    }
    wire.release();
    assert_eq!(layer.drain(Duration::from_secs(10)).await, 0);
    assert_eq!(service.runs.get(), 0);
    // Nothing ran, so nothing is unknown.
    service.post("/x").key("k").json("{}").send().await.is(201).fresh();
    service.post("/x").key("k").json("{}").send().await.is(201).replayed();
}

#[tokio::test(flavor = "multi_thread")]
async fn h110_a_claim_that_comes_after_the_handler_was_run_without_it_does_not_stay() {
    let stage = PostgresStage::fresh().await;
    let wire = Arc::new(stage.database().wire());
    let store = PgStore::new(wire.pool(2).await).open().await.unwrap();
    let layer = leased(store, Recovery::Hold)
        .store_timeout(Duration::from_millis(300))
        .fail_open()
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    wire.hold(At::after("COMMIT"));
    let reply = service.post("/x").key("k").json("{}").send().await;
    assert_eq!(reply.is(201).header("idempotency-failed-open"), Some("true"));
    wire.release();
    assert_eq!(layer.drain(Duration::from_secs(10)).await, 0);
    assert_eq!(service.runs.get(), 1);
    service.post("/x").key("k").json("{}").send().await.is(201).fresh();
    service.post("/x").key("k").json("{}").send().await.is(201).replayed();
}

#[tokio::test]
async fn a_handler_that_does_not_take_its_transaction_is_recorded_and_told() {
    let stage = SqliteStage::fresh().await;
    let told = Told::default();
    let front = Idem::with_settings(stage.store(), told.settings()).unwrap();
    let service = Service::start(&transactional(front).build().unwrap(), created).await;
    service.post("/x").key("k").json("{}").send().await.is(201).fresh();
    service.post("/x").key("k").json("{}").send().await.is(201).replayed();
    assert_eq!(told.all(), ["unused POST /{*rest}"]);
}

#[tokio::test]
async fn h104_h106_h107_an_expired_key_by_profile() {
    for_both_databases!(|stage| {
        let ietf = leased(stage.store(), RERUN).build().unwrap();
        let stripe = leased(stage.store(), RERUN).profile(Profile::StripeV1).build().unwrap();
        let tombstones = stripe.to_builder().tombstones(10 * DAY).build().unwrap();
        let services = [
            Service::start(&ietf, created).await,
            Service::start(&stripe, created).await,
            Service::start(&tombstones, created).await,
        ];
        let ask = |index: usize| services[index].post("/x").key(&format!("k{index}")).json("{}");
        let second = Duration::from_secs(1);
        for index in 0..3 {
            ask(index).send().await.is(201).fresh();
        }
        stage.pass(DAY - 10 * second).await;
        for index in 0..3 {
            ask(index).send().await.is(201).replayed();
        }
        stage.pass(DAY + second).await;
        ask(0).send().await.is(201).replayed();
        assert_eq!(ask(1).send().await.is(201).fresh().text(), "run 2", "a new execution");
        ask(1).send().await.is(201).replayed();
        // H106: a tombstone; another body is still told apart.
        let expired = ask(2).send().await;
        assert_eq!(expired.is(422).fresh().value()["error"]["code"], "key_expired");
        let other = ask(2).json("[]").send().await;
        assert_eq!(other.is(400).value()["error"]["type"], "idempotency_error");
        stage.pass(11 * DAY + second).await;
        ask(2).send().await.is(201).fresh();
        stage.pass(90 * DAY - 10 * second).await;
        ask(0).send().await.is(201).replayed();
        stage.pass(90 * DAY + second).await;
        ask(0).send().await.problem("key-expired", 422);
        // Sweeping changes nothing: the ledger knows.
        assert!(ietf.idem().purge_expired(100).await.unwrap() > 0);
        ask(0).send().await.problem("key-expired", 422);
        ask(0).json("[]").send().await.problem("key-reused", 422);
        assert_eq!(services[0].runs.get(), 1);
        // H107, H108: without a ledger, swept or not, it is absent; what is in flight is never swept.
        ask(1).send().await.is(201).fresh();
        assert_eq!(ietf.idem().purge_expired(100).await.unwrap(), 0, "a day has not passed");
        stage.pass(92 * DAY).await;
        assert_eq!(ietf.idem().purge_expired(100).await.unwrap(), 1);
        assert_eq!(ietf.idem().purge_expired(100).await.unwrap(), 0);
        assert_eq!(stage.entries("executed").await, 1, "the profile keeps no ledger");
    });
}
