//! What becomes of the record, by the response.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::IntoResponse;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use idem::tower::{Attempt, DoNotStore, EffectCommitted, Failure, NothingHappened, Tx, Unbounded};
use idem::{PgStore, Recovery, Retain};

use crate::stage::*;

/// The status that the path asks for.
fn asked(request: &Request) -> StatusCode {
    let code = request.uri().path().trim_start_matches("/status/");
    StatusCode::from_bytes(code.as_bytes()).unwrap()
}

#[tokio::test]
async fn h35_h37_the_record_holds_the_response_and_replays_do_not_prolong_it() {
    for_both_databases!(|stage| {
        let layer = leased(stage.store(), RERUN).build().unwrap();
        let service = Service::start(&layer, async |_, request: Request| {
            let attempt = request.extensions().get::<Attempt>().unwrap();
            (
                StatusCode::CREATED,
                [("location", "/orders/1")],
                attempt.key().to_string(),
            )
        })
        .await;
        let key = service.post("/orders").key("k").json("{}").send().await.is(201).text();
        let key = key.parse().unwrap();
        let record = layer.idem().peek(&key).await.unwrap().record.unwrap();
        let expiry = record.expires_at.unwrap();
        assert_eq!(record.completed_at.unwrap().until(expiry), 90 * DAY);
        let bytes = record.outcome.unwrap().bytes().unwrap().to_vec();
        let stored: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(stored["status"], 201);
        assert_eq!(stored["content"]["text"], key.as_str());
        assert!(
            stored["headers"]
                .as_array()
                .unwrap()
                .contains(&serde_json::json!(["location", "/orders/1"]))
        );
        for _ in 0..5 {
            service
                .post("/orders")
                .key("k")
                .json("{}")
                .send()
                .await
                .is(201)
                .replayed();
        }
        let record = layer.idem().peek(&key).await.unwrap().record.unwrap();
        assert_eq!((service.runs.get(), record.expires_at), (1, Some(expiry)));
    });
}

#[tokio::test]
async fn h36_h41_b17_b18_b19_headers_come_back_as_they_were_or_not_at_all() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN)
        .keep_header(HeaderName::from_static("x-total"))
        .build()
        .unwrap();
    const NEVER: [(&str, &str); 22] = [
        ("age", "7"),
        ("authorization", "Bearer secret-7"),
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("trailer", "x-late"),
        ("upgrade", "h2c"),
        ("proxy-authenticate", "Basic secret-7"),
        ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("set-cookie", "sid=secret-7"),
        ("www-authenticate", "Bearer secret-7"),
        ("x-request-id", "r1"),
        ("request-id", "r1"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("ratelimit-remaining", "3"),
        ("x-ratelimit-limit", "3"),
        ("retry-after", "5"),
        ("access-control-allow-origin", "https://a.example"),
        ("access-control-allow-credentials", "true"),
        ("server-timing", "db;dur=1"),
        ("x-unlisted", "1"),
        ("authentication-info", "secret-7"),
    ];
    let service = Service::start(&layer, async |run, _: Request| {
        let mut headers = HeaderMap::new();
        for (name, value) in NEVER {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for (name, value) in [
            ("location", &b"/orders/1"[..]),
            ("etag", b"\"v1\""),
            ("link", b"</a>; rel=\"x\", </b>"),
            ("link", b"</c>; rel=\"y\""),
            ("content-disposition", b"attachment; filename=\"a,b.txt\""),
            ("content-type", b"application/json"),
            ("x-total", b"caf\xe9"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        (
            StatusCode::CREATED,
            headers,
            format!(r#"{{"nonce":"{run}-{}"}}"#, std::process::id()),
        )
    })
    .await;
    let first = service.post("/x").key("k").json("{}").send().await;
    first.is(201).fresh();
    assert_eq!(
        first.header("set-cookie"),
        Some("sid=secret-7"),
        "the first caller gets everything"
    );
    let repeat = service.post("/x").key("k").json("{}").send().await;
    repeat.is(201).replayed();
    assert_eq!(repeat.body, first.body);
    for name in [
        "location",
        "etag",
        "link",
        "content-disposition",
        "content-type",
        "x-total",
    ] {
        let lines = |reply: &crate::client::Reply| reply.headers.get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(lines(&repeat), lines(&first), "{name}");
    }
    assert_eq!(repeat.headers["x-total"].as_bytes(), b"caf\xe9");
    for (name, value) in NEVER {
        assert_ne!(repeat.header(name), Some(value), "{name}");
    }
    assert_eq!(
        repeat.header("content-length"),
        Some(first.body.len().to_string().as_str())
    );
    let dump: String = sqlx::query_scalar("SELECT group_concat(hex(outcome)) FROM idem_record")
        .fetch_one(stage.store().pool())
        .await
        .unwrap();
    let secret: String = "secret-7".bytes().map(|byte| format!("{byte:02X}")).collect();
    assert!(!dump.contains(&secret));
    for never in ["set-cookie", "date", "access-control-allow-origin", "content-length"] {
        let error = layer
            .to_builder()
            .keep_header(HeaderName::from_static(never))
            .build()
            .unwrap_err();
        assert!(error.to_string().contains(never), "{error}");
    }
}

#[tokio::test]
async fn b17_h38_every_stored_status_replays_as_it_was() {
    for_both_databases!(|stage| {
        let layer = leased(stage.store(), RERUN).build().unwrap();
        let service = Service::start(&layer, async |run, request: Request| {
            let status = asked(&request);
            let body = match status.as_u16() {
                204 | 304 => Body::empty(),
                _ => Body::from(format!("run {run}")),
            };
            let mut response = (status, body).into_response();
            response
                .headers_mut()
                .insert("location", HeaderValue::from_static("/o/1"));
            response
        })
        .await;
        for code in [200, 201, 202, 204, 303, 400, 404, 406, 409, 410, 418, 422, 451] {
            let path = format!("/status/{code}");
            let key = format!("k{code}");
            let first = service.post(&path).key(&key).json("{}").send().await;
            first.is(code).fresh();
            let runs = service.runs.get();
            let repeat = service.post(&path).key(&key).json("{}").send().await;
            repeat.is(code).replayed();
            assert_eq!(
                (repeat.body.clone(), service.runs.get()),
                (first.body.clone(), runs),
                "{code}"
            );
            assert_eq!(repeat.header("location"), Some("/o/1"));
            assert_eq!(repeat.header("content-type"), first.header("content-type"), "{code}");
        }
        // H94, H91: what depends on the moment, and failures, run again.
        for code in [401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 599] {
            let path = format!("/status/{code}");
            let key = format!("k{code}");
            for _ in 0..2 {
                let runs = service.runs.get();
                service.post(&path).key(&key).json("{}").send().await.is(code).fresh();
                assert_eq!(service.runs.get(), runs + 1, "{code}");
            }
        }
    });
}

#[tokio::test]
async fn b13_the_status_policy_is_the_routes() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .status_policy(|status| match status.as_u16() {
            404 => idem::tower::Disposition::Release,
            500 => idem::tower::Disposition::Store,
            _ => idem::tower::Disposition::Fail,
        })
        .build()
        .unwrap();
    let service = Service::start(&layer, async |run, request: Request| {
        (asked(&request), format!("run {run}"))
    })
    .await;
    for (code, replays) in [(404, false), (500, true), (200, false)] {
        let path = format!("/status/{code}");
        service.post(&path).key(&path[1..]).send().await.is(code).fresh();
        let repeat = service.post(&path).key(&path[1..]).send().await;
        repeat.is(code);
        assert_eq!(repeat.headers.contains_key("idempotent-replayed"), replays, "{code}");
    }
}

#[tokio::test]
async fn h97_h98_b13_marks_go_before_the_status() {
    for_both_databases!(|stage| {
        let layer = leased(stage.store(), RERUN).build().unwrap();
        let service = Service::start(&layer, async |run, request: Request| match request.uri().path() {
            "/committed" => (StatusCode::INTERNAL_SERVER_ERROR, EffectCommitted, format!("run {run}")).into_response(),
            "/nostore" => (DoNotStore, format!("run {run}")).into_response(),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, NothingHappened, format!("run {run}")).into_response(),
        })
        .await;
        service.post("/committed").key("a").send().await.is(500).fresh();
        service.post("/committed").key("a").send().await.is(500).replayed();
        for path in ["/nostore", "/nothing"] {
            for _ in 0..2 {
                service.post(path).key(&path[1..]).send().await.fresh();
            }
        }
        assert_eq!(service.runs.get(), 5);
    });
}

#[tokio::test]
async fn h91b_a_failure_under_hold_is_unknown_unless_nothing_happened() {
    for_both_databases!(|stage| {
        let layer = leased(stage.store(), Recovery::Hold).build().unwrap();
        let service = Service::start(&layer, async |run, request: Request| {
            let failed = (StatusCode::INTERNAL_SERVER_ERROR, format!("run {run}"));
            match request.uri().path() {
                "/calls" => failed.into_response(),
                "/panics" => panic!("on purpose"),
                _ => (failed.0, NothingHappened, failed.1).into_response(),
            }
        })
        .await;
        for path in ["/calls", "/panics"] {
            service.post(path).key(&path[1..]).send().await.is(500).fresh();
            for _ in 0..2 {
                let reply = service.post(path).key(&path[1..]).send().await;
                let problem = reply.problem("outcome-unknown", 503);
                assert!(reply.headers.contains_key("retry-after") && problem["retryable"] == true);
            }
        }
        assert_eq!(service.runs.get(), 2);
        service.post("/nothing").key("c").send().await.is(500).fresh();
        service.post("/nothing").key("c").send().await.is(500).fresh();
        assert_eq!(service.runs.get(), 4);
        // H84: until somebody has said what happened.
        let stuck = layer.idem().stuck(Duration::ZERO, 10).await.unwrap();
        assert_eq!(stuck.len(), 2);
    });
}

#[tokio::test]
async fn h44_h45_b20_long_and_endless_bodies_reach_the_first_caller_and_are_not_kept() {
    for_both_databases!(|stage| {
        let store = stage.store();
        let leased = leased(store.clone(), RERUN).max_response_bytes(64).build().unwrap();
        let transactional = transactional(store).max_response_bytes(64).build().unwrap();
        let bodies = async |_: u32, request: Request| match request.uri().path() {
            "/long" => "x".repeat(65).into_response(),
            "/fits" => "x".repeat(64).into_response(),
            "/long-stream" => {
                streaming((0..5).map(|_| Ok("0123456789abcdef")).collect(), Duration::ZERO).into_response()
            }
            "/events" => (
                [(header::CONTENT_TYPE, "Text/Event-Stream; charset=utf-8")],
                streaming(vec![Ok("data: 1\n\n"), Ok("data: 2\n\n")], Duration::ZERO),
            )
                .into_response(),
            _ => (Unbounded, streaming(vec![Ok("a"), Ok("b")], Duration::ZERO)).into_response(),
        };
        let services = [
            Service::start(&leased, bodies).await,
            Service::start(&transactional, bodies).await,
        ];
        for (mode, service) in services.iter().enumerate() {
            for (path, length) in [("/long", 65), ("/long-stream", 80), ("/events", 18), ("/unbounded", 2)] {
                let key = format!("{mode}{}", &path[1..]);
                let first = service.post(path).key(&key).send().await;
                assert_eq!(first.is(200).fresh().body.len(), length, "{path}");
                let runs = service.runs.get();
                service
                    .post(path)
                    .key(&key)
                    .send()
                    .await
                    .problem("result-unavailable", 422);
                assert_eq!(service.runs.get(), runs, "{path}");
            }
            let key = format!("{mode}fits");
            service.post("/fits").key(&key).send().await.is(200).fresh();
            assert_eq!(
                service
                    .post("/fits")
                    .key(&key)
                    .send()
                    .await
                    .is(200)
                    .replayed()
                    .body
                    .len(),
                64
            );
        }
    });
}

#[tokio::test]
async fn b20_h45_a_body_without_a_length_is_kept_while_it_is_delivered() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, async |_, request: Request| {
        let broken = || std::io::Error::other("the source broke off");
        let chunks = match request.uri().path() {
            "/whole" => (0..10).map(|_| Ok("0123456789")).collect(),
            _ => vec![Ok("a"), Ok("b"), Ok("c"), Err(broken())],
        };
        streaming(chunks, Duration::from_millis(20))
    })
    .await;
    let first = service.post("/whole").key("a").send().await;
    first.is(200).fresh();
    assert_eq!(first.body.len(), 100);
    let repeat = service.post("/whole").key("a").send().await;
    assert_eq!(repeat.is(200).replayed().body, first.body);
    // A client that goes away in the middle finds the whole body later.
    let left = service.post("/whole").key("gone");
    left.clone().give_up_after(Duration::from_millis(90)).await;
    layer.drain(Duration::from_secs(10)).await;
    assert_eq!(left.send().await.is(200).replayed().body.len(), 100);
    // Half of a body is no response, and its effect is not had again.
    let broken = service.post("/broken").key("b").send().await;
    assert!(broken.broke_off, "{broken:?}");
    let runs = service.runs.get();
    service
        .post("/broken")
        .key("b")
        .send()
        .await
        .problem("result-unavailable", 422);
    assert_eq!(service.runs.get(), runs);
    // In a transaction nothing is committed of it.
    let transactional = transactional(layer.idem().clone()).build().unwrap();
    let service = Service::start(&transactional, async |run, _: Request| match run {
        1 => streaming(vec![Ok("a"), Err(std::io::Error::other("broke off"))], Duration::ZERO).into_response(),
        _ => format!("run {run}").into_response(),
    })
    .await;
    service.post("/x").key("t").send().await.is(500).fresh();
    assert_eq!(service.post("/x").key("t").send().await.is(200).fresh().text(), "run 2");
}

#[tokio::test]
async fn b18_a_body_with_a_secret_is_not_retained_where_the_route_says_so() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).retain(Retain::DigestOnly).build().unwrap();
    let service = Service::start(&layer, async |_, _: Request| "token-4711").await;
    assert_eq!(service.post("/x").key("k").send().await.is(200).text(), "token-4711");
    service
        .post("/x")
        .key("k")
        .send()
        .await
        .problem("result-unavailable", 422);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record WHERE outcome IS NOT NULL")
        .fetch_one(stage.store().pool())
        .await
        .unwrap();
    assert_eq!((kept, service.runs.get()), (0, 1));
}

#[tokio::test]
async fn h48_h83_the_handler_knows_key_and_attempt() {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, async |run, request: Request| {
        let attempt = request.extensions().get::<Attempt>().unwrap().clone();
        assert!(!attempt.is_replay() && attempt.effect().is_some());
        let text = format!(
            "{} {} {} {}",
            attempt.client_key().unwrap().as_str(),
            attempt.number(),
            attempt.downstream_key(),
            attempt.child("mail"),
        );
        let status = if run == 1 {
            StatusCode::BAD_GATEWAY
        } else {
            StatusCode::OK
        };
        (status, text)
    })
    .await;
    let first = service.post("/x").key("\"k\"").send().await.is(502).text();
    let second = service.post("/x").key("k").send().await.is(200).text();
    assert!(
        first.starts_with("k 1 ") && second.starts_with("k 2 "),
        "{first} {second}"
    );
    assert_eq!(first[4..], second[4..], "the downstream is called under the same keys");
}

#[tokio::test]
async fn h100_h100b_h97_a_transaction_commits_with_its_response_and_not_otherwise() {
    async fn insert_then<S: Stage>(_: u32, mut request: Request) -> axum::response::Response {
        let status = asked(&request);
        let mut tx = Tx::<S::Store>::take(request.extensions_mut()).unwrap();
        S::insert(tx.connection()).await.unwrap();
        drop(tx);
        match request.headers().contains_key("x-committed") {
            true => (status, EffectCommitted, "done").into_response(),
            false => (status, "done").into_response(),
        }
    }
    for_both_databases!(|stage: S| {
        let layer = transactional(stage.store()).build().unwrap();
        let service = Service::start(&layer, insert_then::<S>).await;
        let mut rows = 0;
        for (code, replays, commits) in [
            (201, true, true),
            (303, true, true),
            (422, true, false),
            (404, true, false),
            (500, false, false),
            (503, false, false),
            (401, false, false),
            (429, false, false),
        ] {
            let path = format!("/status/{code}");
            let key = format!("k{code}");
            service.post(&path).key(&key).send().await.is(code).fresh();
            rows += i64::from(commits);
            assert_eq!(stage.rows().await, rows, "{code}");
            let runs = service.runs.get();
            let repeat = service.post(&path).key(&key).send().await;
            repeat.is(code);
            assert_eq!(repeat.headers.contains_key("idempotent-replayed"), replays, "{code}");
            assert_eq!(service.runs.get(), runs + u32::from(!replays), "{code}");
            assert_eq!(stage.rows().await, rows, "{code}");
        }
        let committed = || service.post("/status/500").key("committed").header("x-committed", "1");
        committed().send().await.is(500).fresh();
        committed().send().await.is(500).replayed();
        assert_eq!(stage.rows().await, rows + 1);
        // H100b: a final error has executed nothing.
        assert_eq!(stage.entries("executed").await, 3);
        assert_eq!(stage.entries("declined").await, 2);
    });
}

#[tokio::test]
async fn h96_b27_a_panic_frees_the_key_of_a_transaction_at_once() {
    async fn panics_first<S: Stage>(run: u32, mut request: Request) -> &'static str {
        let mut tx = Tx::<S::Store>::take(request.extensions_mut()).unwrap();
        S::insert(tx.connection()).await.unwrap();
        assert!(run > 1, "on purpose");
        "done"
    }
    for_both_databases!(|stage: S| {
        let layer = transactional(stage.store()).build().unwrap();
        let service = Service::start(&layer, panics_first::<S>).await;
        service.post("/x").key("k").send().await.is(500).fresh();
        assert_eq!(stage.rows().await, 0);
        service.post("/x").key("k").send().await.is(200).fresh();
        service.post("/x").key("k").send().await.is(200).replayed();
        assert_eq!((stage.rows().await, service.runs.get()), (1, 2));
    });
}

#[tokio::test]
async fn a_handler_that_keeps_its_transaction_commits_nothing() {
    let stage = SqliteStage::fresh().await;
    let layer = transactional(stage.store()).build().unwrap();
    let service = Service::start(&layer, async |run, mut request: Request| {
        let mut tx = Tx::<idem::SqliteStore>::take(request.extensions_mut()).unwrap();
        assert!(
            Tx::<idem::SqliteStore>::take(request.extensions_mut()).is_err(),
            "there is one"
        );
        SqliteStage::insert(tx.connection()).await.unwrap();
        if run == 1 {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                drop(tx);
            });
        }
        "done"
    })
    .await;
    service.post("/x").key("k").send().await.is(500).fresh();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.rows().await, 0);
    service.post("/x").key("k").send().await.is(200).fresh();
    assert_eq!(stage.rows().await, 1);
}

#[tokio::test]
async fn a_second_transaction_inside_the_handler_is_refused() {
    let stage = SqliteStage::fresh().await;
    let layer = transactional(stage.store()).build().unwrap();
    let idem = layer.idem().clone();
    let service = Service::start(&layer, move |_, _: Request| {
        let idem = idem.clone();
        async move {
            let intent = idem::testing::Intent::new("nested");
            let nested = idem
                .call(&intent)
                .transaction(async |_: &mut sqlx::SqliteConnection| Ok(1))
                .await;
            nested.map(|_| "ran").map_err(Failure::from)
        }
    })
    .await;
    service.post("/x").key("k").send().await.is(500).fresh();
}

#[tokio::test]
async fn h101_what_the_database_undid_is_told_as_such_and_runs_again() {
    let stage = PostgresStage::fresh().await;
    let pool = stage.store().pool().clone();
    sqlx::raw_sql("CREATE TABLE counters (id int PRIMARY KEY, n int); INSERT INTO counters VALUES (1, 0), (2, 0)")
        .execute(&pool)
        .await
        .unwrap();
    let layer = transactional(stage.store()).build().unwrap();
    let other = pool.clone();
    let service = Service::start(&layer, move |run, mut request: Request| {
        let other = other.clone();
        async move {
            let mut tx = Tx::<PgStore>::take(request.extensions_mut()).unwrap();
            sqlx::query("UPDATE counters SET n = n + 1 WHERE id = 1")
                .execute(tx.connection())
                .await?;
            if run == 1 {
                // Another transaction takes the second row and waits for the first: a deadlock, which one of the two loses.
                let mut rival = other.begin().await?;
                sqlx::query("SET LOCAL deadlock_timeout = '10s'")
                    .execute(&mut *rival)
                    .await?;
                sqlx::query("UPDATE counters SET n = n + 1 WHERE id = 2")
                    .execute(&mut *rival)
                    .await?;
                tokio::spawn(async move {
                    let waits = sqlx::query("UPDATE counters SET n = n + 1 WHERE id = 1")
                        .execute(&mut *rival)
                        .await;
                    let _ = waits;
                    let _ = rival.rollback().await;
                });
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            sqlx::query("UPDATE counters SET n = n + 1 WHERE id = 2")
                .execute(tx.connection())
                .await?;
            Ok::<_, Failure>(StatusCode::CREATED)
        }
    })
    .await;
    let undone = service.post("/x").key("k").json("{}").send().await;
    undone.problem("store-unavailable", 503);
    assert!(undone.headers.contains_key("retry-after"));
    service.post("/x").key("k").json("{}").send().await.is(201).fresh();
    service.post("/x").key("k").json("{}").send().await.is(201).replayed();
    let counts: Vec<i32> = sqlx::query_scalar("SELECT n FROM counters ORDER BY id")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!((counts, service.runs.get()), (vec![1, 1], 2));
}

#[tokio::test]
async fn h34_what_no_route_answers_leaves_nothing_that_binds_or_replays() {
    for mode in ["transactional", "leased"] {
        let stage = SqliteStage::fresh().await;
        let router = axum::Router::new().route("/orders", axum::routing::post(async || "made"));
        let around = |router: axum::Router| match mode {
            "leased" => router.layer(leased(stage.store(), RERUN).build().unwrap()),
            _ => router.layer(transactional(stage.store()).build().unwrap()),
        };
        let inside = |router: axum::Router| match mode {
            "leased" => router.route_layer(leased(stage.store(), RERUN).build().unwrap()),
            _ => router.route_layer(transactional(stage.store()).build().unwrap()),
        };
        for (index, router) in [around(router.clone()), inside(router)].into_iter().enumerate() {
            let service = Service::serve(router.layer(axum::middleware::from_fn(authenticate)), Runs::default()).await;
            let key = |name: &str| format!("{name}{index}");
            for _ in 0..2 {
                service
                    .post("/nowhere")
                    .key(&key("a"))
                    .json("{}")
                    .send()
                    .await
                    .is(404)
                    .fresh();
                let patch = service.ask(http::Method::PATCH, "/orders");
                patch.key(&key("b")).json("{}").send().await.is(405).fresh();
            }
            // Both keys are free for another request.
            for name in ["a", "b"] {
                service
                    .post("/orders")
                    .key(&key(name))
                    .json("[1]")
                    .send()
                    .await
                    .is(200)
                    .fresh();
            }
        }
        // Outside of a transaction the claim is on record before anybody knows that there is no route: as one of which nothing
        // came, until a request takes the key over.
        let other: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record WHERE status <> 1")
            .fetch_one(stage.store().pool())
            .await
            .unwrap();
        assert_eq!(
            (other, stage.entries("executed").await, stage.entries("declined").await),
            (0, 4, 0),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn h46_an_upgrade_is_not_recorded() {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, async |run, _: Request| {
        (
            StatusCode::SWITCHING_PROTOCOLS,
            [("x-run", run.to_string()), ("upgrade", "x".into())],
        )
    })
    .await;
    for run in 1..=2 {
        let reply = service.post("/x").key("k").send().await;
        assert_eq!(reply.is(101).fresh().header("x-run"), Some(run.to_string().as_str()));
    }
}
