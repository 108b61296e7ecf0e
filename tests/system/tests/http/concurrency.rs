//! Many requests with one key at a time, and requests that nobody waits for any more.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::IntoResponse;
use http::StatusCode;
use idem::tower::{Attempt, Tx};
use idem::{Idem, Recovery, Settings};
use tokio::sync::Semaphore;

use crate::client::{Ask, Reply};
use crate::stage::*;

/// Lets handlers wait until the test says so.
#[derive(Clone)]
struct Gate(Arc<Semaphore>);

impl Gate {
    fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }

    fn open(&self, count: usize) {
        self.0.add_permits(count);
    }
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn h75_h76_b25_while_the_first_runs_the_same_is_in_flight_and_another_is_refused() {
    for_both_databases!(|stage| {
        for mode in ["leased", "transactional"] {
            let gate = Gate::closed();
            let handler = {
                let gate = gate.clone();
                move |run, _: Request| {
                    let gate = gate.clone();
                    async move {
                        gate.pass().await;
                        (StatusCode::CREATED, format!("run {run}"))
                    }
                }
            };
            let service = match mode {
                "leased" => Service::start(&leased(stage.store(), RERUN).build().unwrap(), handler).await,
                _ => Service::start(&transactional(stage.store()).build().unwrap(), handler).await,
            };
            let ask = |body: &str| service.post("/x").key(mode).json(body);
            let first = tokio::spawn(ask(r#"{"amount":10}"#).send());
            until("the handler runs", async || service.runs.get() == 1).await;
            for _ in 0..3 {
                let reply = ask(r#"{"amount":10.0}"#).send().await;
                let problem = reply.problem("in-flight", 409);
                let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=30).contains(&seconds), "{seconds}");
                assert_eq!(
                    (&problem["retry_after"], &problem["retryable"]),
                    (&seconds.into(), &true.into())
                );
                let other = ask(r#"{"amount":11}"#).send().await;
                other.problem("key-reused", 422);
                assert!(!other.headers.contains_key("retry-after"));
            }
            gate.open(10);
            first.await.unwrap().is(201).fresh();
            ask(r#"{"amount":10}"#).send().await.is(201).replayed();
            ask(r#"{"amount":11}"#).send().await.problem("key-reused", 422);
            assert_eq!(service.runs.get(), 1, "{mode}");
        }
        // The refusals are on record, once for each payload.
        until("refusals are on record", async || stage.entries("refused").await == 2).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn h77_b26_of_many_at_once_one_runs_and_a_lost_race_is_no_outage() {
    for_both_databases!(|stage| {
        for mode in ["leased", "transactional"] {
            let slow = async |run, _: Request| {
                tokio::time::sleep(Duration::from_millis(100)).await;
                (StatusCode::CREATED, format!("run {run}"))
            };
            let service = match mode {
                "leased" => Service::start(&leased(stage.store(), RERUN).build().unwrap(), slow).await,
                _ => Service::start(&transactional(stage.store()).build().unwrap(), slow).await,
            };
            let replies = at_once(50, || service.post("/x").key(mode).json("{}")).await;
            let fresh = replies.iter().filter(|reply| is_fresh(reply)).count();
            for reply in &replies {
                assert!(matches!(reply.status.as_u16(), 201 | 409), "{reply:?}");
            }
            assert_eq!((fresh, service.runs.get()), (1, 1), "{mode}");
        }
    });
}

fn is_fresh(reply: &Reply) -> bool {
    reply.status == StatusCode::CREATED && !reply.headers.contains_key("idempotent-replayed")
}

async fn at_once(count: usize, ask: impl Fn() -> Ask) -> Vec<Reply> {
    let asked: Vec<_> = (0..count).map(|_| tokio::spawn(ask().send())).collect();
    let mut replies = Vec::new();
    for reply in asked {
        replies.push(reply.await.unwrap());
    }
    replies
}

#[tokio::test]
async fn b26_a_violation_of_the_applications_own_index_is_the_handlers_error() {
    let stage = PostgresStage::fresh().await;
    sqlx::query("CREATE TABLE emails (email text UNIQUE)")
        .execute(stage.store().pool())
        .await
        .unwrap();
    let layer = transactional(stage.store()).build().unwrap();
    let service = Service::start(&layer, async |_, mut request: Request| {
        let mut tx = Tx::<idem::PgStore>::take(request.extensions_mut()).unwrap();
        let inserted = sqlx::query("INSERT INTO emails VALUES ('a@b')")
            .execute(tx.connection())
            .await;
        match inserted {
            Ok(_) => StatusCode::CREATED.into_response(),
            Err(_) => (StatusCode::CONFLICT, "taken").into_response(),
        }
    })
    .await;
    service.post("/x").key("a").json("{}").send().await.is(201).fresh();
    assert_eq!(
        service
            .post("/x")
            .key("b")
            .json("{}")
            .send()
            .await
            .is(409)
            .fresh()
            .text(),
        "taken"
    );
    // It is a final error of that request, which the aborted transaction does not keep from being recorded.
    assert_eq!(
        service
            .post("/x")
            .key("b")
            .json("{}")
            .send()
            .await
            .is(409)
            .replayed()
            .text(),
        "taken"
    );
}

#[tokio::test]
async fn h79_h80_a_repeat_waits_as_long_as_it_is_told_to() {
    for_both_databases!(|stage| {
        for mode in ["leased", "transactional"] {
            let gate = Gate::closed();
            let handler = {
                let gate = gate.clone();
                move |run, _: Request| {
                    let gate = gate.clone();
                    async move {
                        gate.pass().await;
                        (StatusCode::CREATED, format!("run {run}"))
                    }
                }
            };
            let wait = Duration::from_millis(400);
            let service = match mode {
                "leased" => Service::start(&leased(stage.store(), RERUN).wait(wait).build().unwrap(), handler).await,
                _ => Service::start(&transactional(stage.store()).wait(wait).build().unwrap(), handler).await,
            };
            let ask = || service.post("/x").key(mode).json("{}");
            let first = tokio::spawn(ask().send());
            until("the handler runs", async || service.runs.get() == 1).await;
            // Longer than it waits.
            ask().send().await.problem("in-flight", 409);
            let second = tokio::spawn(ask().send());
            tokio::time::sleep(Duration::from_millis(50)).await;
            gate.open(1);
            first.await.unwrap().is(201).fresh();
            second.await.unwrap().is(201).replayed();
            assert_eq!(service.runs.get(), 1, "{mode}");
        }
    });
}

#[tokio::test]
async fn h87_b27_work_goes_on_when_its_client_goes_away() {
    for_both_databases!(|stage: S| {
        async fn slow<S: Stage>(run: u32, mut request: Request) -> (StatusCode, String) {
            let tx = Tx::<S::Store>::take(request.extensions_mut()).ok();
            tokio::time::sleep(Duration::from_millis(200)).await;
            if let Some(mut tx) = tx {
                S::insert(tx.connection()).await.unwrap();
            }
            (StatusCode::CREATED, format!("run {run}"))
        }
        let leased = leased(stage.store(), RERUN).build().unwrap();
        let transactional = transactional(stage.store()).build().unwrap();
        for service in [
            Service::start(&leased, slow::<S>).await,
            Service::start(&transactional, slow::<S>).await,
        ] {
            let key = service.address.port().to_string();
            let ask = || service.post("/x").key(&key).json("{}");
            ask().give_up_after(Duration::from_millis(100)).await;
            assert_eq!(service.runs.get(), 1);
            // H89: who shuts down waits for it.
            assert_eq!(leased.drain(Duration::from_secs(10)).await, 0);
            assert_eq!(transactional.drain(Duration::from_secs(10)).await, 0);
            let reply = ask().send().await;
            assert_eq!(reply.is(201).replayed().text(), "run 1");
        }
        assert_eq!(stage.rows().await, 1);
    });
}

#[tokio::test]
async fn h89_a_drain_tells_what_it_did_not_wait_for() {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    let gate = Gate::closed();
    let service = Service::start(&layer, {
        let gate = gate.clone();
        move |_, _: Request| {
            let gate = gate.clone();
            async move { gate.pass().await }
        }
    })
    .await;
    let asked = tokio::spawn(service.post("/x").key("k").send());
    until("the handler runs", async || service.runs.get() == 1).await;
    assert!(layer.drain(Duration::from_millis(50)).await > 0);
    gate.open(1);
    assert_eq!(layer.drain(Duration::from_secs(10)).await, 0);
    asked.await.unwrap().is(200).fresh();
}

#[tokio::test]
async fn b27_time_outs_inside_and_outside_of_the_layer() {
    use tower_http::timeout::TimeoutLayer;
    let stage = SqliteStage::fresh().await;
    let slow = async || {
        tokio::time::sleep(Duration::from_millis(150)).await;
        "done"
    };
    let limit = |status| TimeoutLayer::with_status_code(status, Duration::from_millis(50));
    let router = || axum::Router::new().route("/x", axum::routing::post(slow));
    let authenticate = || axum::middleware::from_fn(authenticate);
    // Outside, it gives up and the work goes on.
    let layer = leased(stage.store(), RERUN).build().unwrap();
    let outside = router()
        .route_layer(layer.clone())
        .layer(limit(StatusCode::GATEWAY_TIMEOUT))
        .layer(authenticate());
    let service = Service::serve(outside, Runs::default()).await;
    service.post("/x").key("a").send().await.is(504).fresh();
    layer.drain(Duration::from_secs(10)).await;
    service.post("/x").key("a").send().await.is(200).replayed();
    // Inside, it is the handler's own answer: of 503 or 504 it is not known what happened.
    let hold = leased(stage.store(), Recovery::Hold).build().unwrap();
    let inside = router()
        .layer(limit(StatusCode::GATEWAY_TIMEOUT))
        .route_layer(hold)
        .layer(authenticate());
    let service = Service::serve(inside, Runs::default()).await;
    service.post("/x").key("b").send().await.is(504).fresh();
    service.post("/x").key("b").send().await.problem("outcome-unknown", 503);
    // A transaction is rolled back.
    let rolls_back = router()
        .layer(limit(StatusCode::GATEWAY_TIMEOUT))
        .route_layer(transactional(stage.store()).build().unwrap())
        .layer(authenticate());
    let service = Service::serve(rolls_back, Runs::default()).await;
    for _ in 0..2 {
        service.post("/x").key("c").send().await.is(504).fresh();
    }
}

#[tokio::test]
async fn h85_b28_a_stalled_owner_is_fenced_out_by_who_took_over() {
    for_both_databases!(|stage: S| {
        let lease = Duration::from_secs(3600);
        let settings = Settings::default().lease(lease);
        let gate = Gate::closed();
        let handler = {
            let gate = gate.clone();
            move |run, request: Request| {
                let gate = gate.clone();
                async move {
                    let attempt = request.extensions().get::<Attempt>().unwrap().number();
                    if attempt == 1 {
                        gate.pass().await;
                    }
                    (StatusCode::CREATED, format!("run {run} attempt {attempt}"))
                }
            }
        };
        // Two processes, as far as they know of each other.
        let front = || Idem::with_settings(stage.store(), settings.clone()).unwrap();
        let recovery = Recovery::Rerun {
            remembered_for: 10 * DAY,
        };
        let one = Service::start(&leased(front(), recovery).build().unwrap(), handler.clone()).await;
        let two = Service::start(&leased(front(), recovery).build().unwrap(), handler).await;
        let stalled = tokio::spawn(one.post("/x").key("k").json("{}").send());
        until("the first handler runs", async || one.runs.get() == 1).await;
        // B28: before the lease ends, whoever asks is told how long it may take.
        let reply = two.post("/x").key("k").json("{}").send().await;
        reply.problem("in-flight", 409);
        let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((3000..=3600).contains(&seconds), "{seconds}");
        stage.pass(lease + Duration::from_secs(1)).await;
        let taken = two.post("/x").key("k").json("{}").send().await;
        assert_eq!(taken.is(201).fresh().text(), "run 1 attempt 2");
        gate.open(1);
        // It reports what stands, not its own result.
        let late = stalled.await.unwrap();
        assert_eq!(late.is(201).replayed().text(), "run 1 attempt 2");
        let repeat = one.post("/x").key("k").json("{}").send().await;
        assert_eq!(repeat.is(201).replayed().text(), "run 1 attempt 2");
        let zero = Idem::with_settings(stage.store(), Settings::default().lease(Duration::ZERO));
        assert!(zero.is_err(), "a lease of nothing is no lease");
    });
}

#[tokio::test]
async fn h84_h83_after_the_lease_the_recovery_decides() {
    for_both_databases!(|stage| {
        let lease = Duration::from_secs(600);
        for (key, recovery, expected) in [
            ("a", Recovery::Rerun { remembered_for: DAY }, 201),
            ("b", Recovery::Hold, 503),
        ] {
            // An owner that is gone without a word: its runtime ends under it.
            let store = stage.store();
            let address = stage.url();
            let died = std::thread::spawn(move || {
                let _ = store;
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(owner_that_hangs(&address, key, lease, recovery));
                runtime.shutdown_background();
            });
            tokio::task::spawn_blocking(move || died.join().unwrap()).await.unwrap();
            let front = Idem::with_settings(stage.store(), Settings::default().lease(lease)).unwrap();
            let service = Service::start(&leased(front, recovery).build().unwrap(), created).await;
            let ask = || service.post("/x").key(key).json("{}");
            ask().send().await.problem("in-flight", 409);
            stage.pass(lease + Duration::from_secs(1)).await;
            ask().send().await.is(expected);
            ask().send().await.is(expected);
            assert_eq!(service.runs.get(), u32::from(expected == 201), "{recovery:?}");
            stage.pass(Duration::ZERO).await;
        }
    });
}

async fn owner_that_hangs(url: &str, key: &'static str, lease: Duration, recovery: Recovery) {
    async fn hang<S: Stage>(url: &str, key: &'static str, lease: Duration, recovery: Recovery) {
        let stage = S::attach(url).await;
        let front = Idem::with_settings(stage.store(), Settings::default().lease(lease)).unwrap();
        let layer = leased(front, recovery).build().unwrap();
        let service = Service::start(&layer, async |_, _: Request| std::future::pending::<()>().await).await;
        service
            .post("/x")
            .key(key)
            .json("{}")
            .give_up_after(Duration::from_millis(300))
            .await;
        assert_eq!(service.runs.get(), 1);
    }
    match url.starts_with("postgres") {
        true => hang::<PostgresStage>(url, key, lease, recovery).await,
        false => hang::<SqliteStage>(url, key, lease, recovery).await,
    }
}
