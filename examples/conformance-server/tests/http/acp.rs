//! The Agentic Commerce Protocol's rules.

use std::thread;

use crate::support::{Response, Server, eventually, everywhere, get, new_key, post};

fn acp(case: impl Fn(&Server) + Sync) {
    everywhere(&["--profile", "acp"], case);
}

/// Checks an error in the form of the protocol.
#[track_caller]
fn is_error(response: Response, code: &str, status: u16) -> Response {
    let response = response.answers(status);
    assert_eq!(
        response.header("content-type"),
        Some("application/json"),
        "{response:?}"
    );
    let body = response.json();
    assert_eq!(
        (&body["type"], &body["code"]),
        (&"invalid_request".into(), &code.into()),
        "{body}"
    );
    assert!(body["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    response
}

#[test]
fn a1_a_missing_key_is_400() {
    acp(|server| {
        is_error(server.send(&post("/orders")), "idempotency_key_required", 400);
        assert_eq!(server.orders(), 0);
    });
}

#[test]
fn a2_another_body_is_422() {
    acp(|server| {
        let key = new_key();
        server.send(&post("/orders").key(&key)).answers(201);
        let other = server.send(&post("/orders").json("{}").key(&key));
        is_error(other, "idempotency_conflict", 422);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn a3_in_flight_is_409_with_retry_after() {
    acp(|server| {
        let key = new_key();
        let request = post("/slow?ms=800").key(&key);
        thread::scope(|scope| {
            let running = scope.spawn(|| server.send(&request));
            eventually("the handler runs", || server.runs(&key) == 1);
            is_error(server.send(&request), "idempotency_in_flight", 409).retry_after();
            running.join().expect("a response").answers(200);
        });
    });
}

#[test]
fn a4_the_key_comes_back_with_every_response() {
    acp(|server| {
        for sent in [new_key(), format!("\"{}\"", new_key())] {
            let request = post("/orders").key(&sent);
            let first = server.send(&request).answers(201);
            assert_eq!(first.all("idempotency-key"), [&sent]);
            let again = server.send(&request).replays(&first);
            assert_eq!(again.all("idempotency-key"), [&sent]);
        }
    });
}

#[test]
fn a5_after_a_failure_the_repeat_is_fresh() {
    acp(|server| {
        let request = post("/flaky?fail=1").key(new_key());
        server.send(&request).answers(500);
        let second = server.send(&request).answers(200);
        server.send(&request).replays(&second);
    });
}

#[test]
fn a6_one_key_on_two_operations_is_two_effects() {
    acp(|server| {
        let key = new_key();
        let (create, cancel) = (post("/orders").key(&key), post("/orders/1/cancel").key(&key));
        let created = server.send(&create).answers(201);
        let cancelled = server.send(&cancel).answers(200);
        server.send(&create).replays(&created);
        server.send(&cancel).replays(&cancelled);
        is_error(server.send(&cancel.json("{}")), "idempotency_conflict", 422);
        assert_eq!(server.runs(&key), 2);
    });
}

#[test]
fn a7_get_needs_no_key() {
    acp(|server| {
        server.send(&post("/orders").key(new_key())).answers(201);
        server.send(&get("/orders/1")).answers(200);
    });
}

#[test]
fn a8_255_characters_are_a_key_and_256_are_not() {
    acp(|server| {
        server.send(&post("/orders").key("k".repeat(255))).answers(201);
        let longer = server.send(&post("/orders").key("k".repeat(256)));
        is_error(longer, "idempotency_key_invalid", 400);
    });
}

#[test]
fn a10_an_extension_counts() {
    acp(|server| {
        let key = new_key();
        let of = |extension: &str| {
            post("/orders")
                .json(&format!("{{\"amount\":1,\"x\":{extension}}}"))
                .key(&key)
        };
        server.send(&of("{\"gift\":true}")).answers(201);
        is_error(server.send(&of("{\"gift\":false}")), "idempotency_conflict", 422);
    });
}

#[test]
fn a11_after_a_day_it_is_new() {
    acp(|server| {
        let key = new_key();
        let request = post("/orders").key(&key);
        let first = server.send(&request).answers(201);
        server.advance(24 * 60 * 60 - 60);
        server.send(&request).replays(&first);
        server.advance(60);
        server.send(&request).answers(201);
        assert_eq!(server.runs(&key), 2);
    });
}
