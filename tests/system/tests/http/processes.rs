//! Servers in processes of their own, on one database: raced, and killed at named points.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Request;
use http::{Method, StatusCode};
use idem::testing::Clock;
use idem::testing::TestClock as _;
use idem::tower::{IdempotencyLayer, Mode, Tx};
use idem_system_tests::points;
use idem_system_tests::process::{self, Child};

use crate::client::{Ask, Reply};
use crate::stage::*;

pub const ROLE: &str = "serves requests";

/// The child: a server on the database, which may stop for good at a point of the protocol or in its handler.
pub fn play() {
    let url = process::argument("DATABASE");
    let (mode, point) = (process::argument("MODE"), process::argument("POINT"));
    if !["", "handler", "response"].contains(&point.as_str()) {
        points::stop_at(&point, 1);
    }
    process::block_on(async move {
        match url.starts_with("postgres") {
            true => serve::<PostgresStage>(&url, &mode, point).await,
            false => serve::<SqliteStage>(&url, &mode, point).await,
        }
    });
}

async fn serve<S: Stage>(url: &str, mode: &str, point: String) {
    let stage = S::attach(url).await;
    match mode {
        "leased" => serve_by::<S, _>(&leased(stage.store(), RERUN).build().unwrap(), point).await,
        _ => serve_by::<S, _>(&transactional(stage.store()).build().unwrap(), point).await,
    }
}

async fn serve_by<S: Stage, M: Mode<S::Store>>(layer: &IdempotencyLayer<S::Store, M>, point: String) {
    let runs = Runs::default();
    let service = Service::start(layer, {
        let runs = runs.clone();
        move |_, mut request: Request| {
            let (runs, point) = (runs.clone(), point.clone());
            async move {
                if request.method() == Method::GET {
                    return (StatusCode::OK, runs.get().to_string());
                }
                let run = runs.count();
                if let Ok(mut tx) = Tx::<S::Store>::take(request.extensions_mut()) {
                    S::insert(tx.connection()).await.unwrap();
                }
                if point == "handler" {
                    process::say("at handler");
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
                (StatusCode::CREATED, format!("run {run} of {}", std::process::id()))
            }
        }
    })
    .await;
    process::say(service.address);
    // Until the parent ends it.
    tokio::task::spawn_blocking(process::hear).await.unwrap();
}

fn start<S: Stage>(stage: &S, mode: &str, point: &str) -> (Child, SocketAddr) {
    let mut child = process::role(ROLE)
        .with("DATABASE", stage.url())
        .with("MODE", mode)
        .with("POINT", point)
        .start();
    let address = child.line().expect("an address").parse().expect("an address");
    (child, address)
}

fn ask(address: SocketAddr, key: &str) -> Ask {
    Ask::new(address, Method::POST, "/orders").key(key).json("{}")
}

#[tokio::test(flavor = "multi_thread")]
async fn h78_of_duplicates_over_two_processes_one_runs() {
    for_both_databases!(|stage| {
        for mode in ["transactional", "leased"] {
            let (one, two) = (start(&stage, mode, ""), start(&stage, mode, ""));
            for count in [50, 500] {
                let key = format!("{mode}-{count}");
                let before = runs(&[&one, &two]).await;
                let asked: Vec<_> = (0..count)
                    .map(|index| {
                        let address = if index % 2 == 0 { one.1 } else { two.1 };
                        tokio::spawn(ask(address, &key).send())
                    })
                    .collect();
                let mut fresh = 0;
                let mut text = None;
                for reply in asked {
                    let reply: Reply = reply.await.unwrap();
                    assert!(matches!(reply.status.as_u16(), 201 | 409), "{reply:?}");
                    if reply.status == StatusCode::CREATED {
                        fresh += u32::from(!reply.headers.contains_key("idempotent-replayed"));
                        let said = text.get_or_insert_with(|| reply.text());
                        assert_eq!(*said, reply.text());
                    }
                }
                assert_eq!((fresh, runs(&[&one, &two]).await - before), (1, 1), "{mode} {count}");
            }
        }
        assert_eq!(stage.rows().await, 2, "the transactional ones");
        assert_eq!(stage.entries("executed").await, 4);
    });
}

async fn runs(servers: &[&(Child, SocketAddr)]) -> u32 {
    let mut runs = 0;
    for (_, address) in servers {
        let reply = Ask::new(*address, Method::GET, "/runs").send().await;
        runs += reply.text().parse::<u32>().unwrap();
    }
    runs
}

/// Points of a transaction, and whether it is committed there.
const POINTS: [(&str, bool); 5] = [
    ("begun", false),
    ("claimed", false),
    ("handler", false),
    ("completed", false),
    ("committed", true),
];

#[tokio::test(flavor = "multi_thread")]
async fn h99_killed_before_the_commit_the_retry_runs_once_and_after_it_replays() {
    let kills: usize = std::env::var("IDEM_TEST_KILLS").map_or(20, |kills| kills.parse().expect("a number"));
    for_both_databases!(|stage| {
        let layer = transactional(stage.store()).build().unwrap();
        let survivor = Service::start(&layer, handler_of(&stage)).await;
        let mut duplicates = 0;
        for kill in 0..kills {
            let (point, is_committed) = POINTS[kill % POINTS.len()];
            let (mut server, address) = start(&stage, "transactional", point);
            let owner = server.id();
            let key = format!("k{kill}");
            let asked = tokio::spawn(ask(address, &key).try_send());
            tokio::task::spawn_blocking({
                let at = format!("at {point}");
                move || {
                    server.wait_for(&at);
                    assert!(server.kill().was_killed());
                }
            })
            .await
            .unwrap();
            assert!(asked.await.unwrap().is_err(), "nobody answers after a kill");
            // The database may take a moment to notice that the owner is gone.
            let reply = until_decided(survivor.address, &key).await;
            match is_committed {
                true => assert_eq!(reply.replayed().text(), format!("run 1 of {owner}"), "{point}"),
                false => assert!(reply.fresh().text().starts_with("survivor"), "{point}: {reply:?}"),
            }
            assert_eq!(
                ask(survivor.address, &key).send().await.is(201).replayed().body,
                reply.body
            );
            let rows = stage.rows().await;
            duplicates += rows - i64::try_from(kill + 1).unwrap() - duplicates;
            assert_eq!(rows, i64::try_from(kill + 1).unwrap(), "{point}");
        }
        assert_eq!(duplicates, 0);
        assert_eq!(stage.entries("executed").await, i64::try_from(kills).unwrap());
    });
}

fn handler_of<S: Stage>(
    _: &S,
) -> impl Fn(u32, Request) -> std::pin::Pin<Box<dyn Future<Output = (StatusCode, String)> + Send>>
+ Clone
+ Send
+ Sync
+ use<S> {
    |run, mut request| {
        Box::pin(async move {
            let mut tx = Tx::<S::Store>::take(request.extensions_mut()).unwrap();
            S::insert(tx.connection()).await.unwrap();
            (StatusCode::CREATED, format!("survivor {run}"))
        })
    }
}

async fn until_decided(address: SocketAddr, key: &str) -> Reply {
    for _ in 0..500 {
        let reply = ask(address, key).send().await;
        if reply.status == StatusCode::CREATED {
            return reply;
        }
        assert!(matches!(reply.status.as_u16(), 409 | 503), "{reply:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{key} is not decided");
}

#[tokio::test(flavor = "multi_thread")]
async fn h83_b28_a_leased_server_that_is_killed_is_taken_over_after_its_lease() {
    for_both_databases!(|stage| {
        let survivor = Service::start(&leased(stage.store(), RERUN).build().unwrap(), created).await;
        for (point, expected) in [("claimed", "run 1"), ("handler", "run 2"), ("completed", "")] {
            stage.store().set_clock(Clock::Ahead(0)).await.unwrap();
            let (mut server, address) = start(&stage, "leased", point);
            let owner = server.id();
            let asked = tokio::spawn(ask(address, point).try_send());
            let at = format!("at {point}");
            tokio::task::spawn_blocking(move || {
                server.wait_for(&at);
                assert!(server.kill().was_killed());
            })
            .await
            .unwrap();
            assert!(asked.await.unwrap().is_err());
            let reply = ask(survivor.address, point).send().await;
            if point == "completed" {
                assert_eq!(reply.is(201).replayed().text(), format!("run 1 of {owner}"));
                continue;
            }
            reply.problem("in-flight", 409);
            let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=30).contains(&seconds), "{seconds}");
            stage.pass(Duration::from_secs(31)).await;
            assert_eq!(
                ask(survivor.address, point).send().await.is(201).fresh().text(),
                expected
            );
            ask(survivor.address, point).send().await.is(201).replayed();
        }
    });
}
