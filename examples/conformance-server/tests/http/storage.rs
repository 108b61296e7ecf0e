//! A store that does not answer.

use std::time::{Duration, Instant};

use crate::support::{SHARED, in_settings, new_key, post};

#[test]
fn h109_a_store_that_does_not_answer_is_503() {
    in_settings(SHARED, |place| {
        let server = place.start(&["--store-timeout-ms", "500"]);
        let key = new_key();
        let request = post("/orders").key(&key);
        let locked = place.database.lock();
        let began = Instant::now();
        server.send(&request).refuses_as("store-unavailable", 503).retry_after();
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        assert_eq!(server.runs(&key), 0);
        drop(locked);
        server.send(&request).answers(201);
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h110_failed_open_the_handler_runs_and_the_response_says_so() {
    in_settings(SHARED, |place| {
        let server = place.start(&["--store-timeout-ms", "500", "--fail-open"]);
        let request = post("/optional").key(new_key());
        let locked = place.database.lock();
        for _ in 0..2 {
            let response = server.send(&request).answers(201);
            assert_eq!(response.header("idempotency-failed-open"), Some("true"));
        }
        drop(locked);
        let first = server.send(&request).answers(201);
        assert_eq!(first.header("idempotency-failed-open"), None);
        server.send(&request).replays(&first);
    });
}
