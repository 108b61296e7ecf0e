//! What becomes of the record, by the handler's response.

use crate::support::{LEASED, TRANSACTIONAL, everywhere, in_settings, new_key, post};

const RELEASED: [u16; 7] = [401, 403, 407, 408, 421, 425, 429];

#[test]
fn h91_a_failure_is_passed_through_and_the_repeat_runs() {
    everywhere(&[], |server| {
        for status in [500, 501, 502, 503, 504, 599] {
            let key = new_key();
            let request = post(&format!("/status/{status}")).key(&key);
            for run in 1..=3 {
                let response = server.send(&request).answers(status);
                assert_eq!(response.header("content-type"), Some("application/json"));
                assert_eq!(server.runs(&key), run);
            }
        }
        let key = new_key();
        let request = post("/flaky?fail=2").key(&key);
        server.send(&request).answers(500);
        server.send(&request).answers(500);
        let third = server.send(&request).answers(200);
        server.send(&request).replays(&third);
        assert_eq!(server.runs(&key), 3);
    });
}

#[test]
fn h91_the_attempt_after_a_failure_is_counted_in_leased_mode() {
    in_settings(LEASED, |place| {
        let server = place.start(&[]);
        let request = post("/status/500").key(new_key());
        for attempt in 1..=3 {
            assert_eq!(server.send(&request).answers(500).json()["attempt"], attempt);
        }
    });
}

#[test]
fn h91b_held_after_a_failure_the_outcome_is_unknown() {
    in_settings(LEASED, |place| {
        let server = place.start(&["--recovery", "hold"]);
        let key = new_key();
        let request = post("/insert-then/500").key(&key);
        server.send(&request).answers(500);
        for _ in 0..2 {
            server.send(&request).refuses_as("outcome-unknown", 503).retry_after();
        }
        server.send(&request.json("{}")).refuses_as("key-reused", 422);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h91b_a_failure_before_anything_happened_runs_again() {
    everywhere(&["--recovery", "hold"], |server| {
        let key = new_key();
        let request = post("/nothing/500").key(&key);
        for run in 1..=2 {
            server.send(&request).answers(500);
            assert_eq!(server.runs(&key), run);
        }
    });
}

#[test]
fn h92_stripe_v1_keeps_failures() {
    everywhere(&["--profile", "stripe_v1"], |server| {
        for status in [500, 502, 400, 404, 422] {
            let key = new_key();
            let request = post(&format!("/status/{status}")).key(&key);
            let first = server.send(&request).answers(status);
            server.send(&request).replays(&first);
            assert_eq!(server.runs(&key), 1, "{status}");
        }
    });
}

#[test]
fn h92_stripe_v1_answers_in_its_own_form() {
    everywhere(&["--profile", "stripe_v1"], |server| {
        let key = new_key();
        let first = server.send(&post("/orders").key(&key)).answers(201);
        assert_eq!(first.header("idempotency-key"), Some(&*key));
        let other = server.send(&post("/orders").json("{}").key(&key)).answers(400);
        assert_eq!(other.header("content-type"), Some("application/json"));
        assert_eq!(other.json()["error"]["type"], "idempotency_error");
    });
}

#[test]
fn h94_what_depends_on_credentials_time_or_load_is_not_kept() {
    everywhere(&[], |server| {
        for status in RELEASED {
            let key = new_key();
            let request = post(&format!("/status/{status}")).key(&key);
            for run in 1..=2 {
                server.send(&request).answers(status);
                assert_eq!(server.runs(&key), run, "{status}");
            }
        }
    });
}

#[test]
fn h94_a_released_key_is_free_for_another_request() {
    everywhere(&["--recovery", "hold"], |server| {
        let key = new_key();
        server.send(&post("/status/429").key(&key)).answers(429);
        let first = server.send(&post("/orders").key(&key)).answers(201);
        server.send(&post("/orders").key(&key)).replays(&first);
    });
}

#[test]
fn h94_every_other_status_below_500_is_kept() {
    everywhere(&[], |server| {
        for status in (200..=499).filter(|status| !RELEASED.contains(status)).step_by(3) {
            // 405 is also what a missing route is answered with.
            let request = post(&format!("/status/{status}")).key(new_key());
            let first = server.send(&request).answers(status);
            server.send(&request).replays(&first);
        }
    });
}

#[test]
fn h96_a_panic_is_500_and_the_repeat_runs() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/panic").key(&key);
        for run in 1..=2 {
            server.send(&request).answers(500);
            assert_eq!(server.runs(&key), run);
        }
        server.send(&post("/orders").key(new_key())).answers(201);
    });
}

#[test]
fn h96_held_after_a_panic_the_outcome_is_unknown() {
    in_settings(LEASED, |place| {
        let server = place.start(&["--recovery", "hold"]);
        let key = new_key();
        let request = post("/panic").key(&key);
        server.send(&request).answers(500);
        server.send(&request).refuses_as("outcome-unknown", 503);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h96_a_panic_in_a_transaction_frees_the_key_at_once() {
    in_settings(TRANSACTIONAL, |place| {
        let server = place.start(&[]);
        let key = new_key();
        server.send(&post("/panic").key(&key)).answers(500);
        server.send(&post("/orders").key(&key)).answers(201);
        assert_eq!(server.orders(), 1);
    });
}

#[test]
fn h97_a_committed_effect_wins_over_the_status() {
    everywhere(&["--recovery", "hold"], |server| {
        for (orders, status) in (1..).zip([500, 503, 403, 429, 422, 200]) {
            let key = new_key();
            let request = post(&format!("/committed/{status}")).key(&key);
            let first = server.send(&request).answers(status);
            server.send(&request).replays(&first);
            assert_eq!((server.runs(&key), server.orders()), (1, orders), "{status}");
        }
    });
}

#[test]
fn h98_what_is_not_to_be_stored_runs_again() {
    everywhere(&["--recovery", "hold"], |server| {
        let key = new_key();
        for run in 1..=2 {
            server.send(&post("/nostore").key(&key)).answers(200);
            assert_eq!(server.runs(&key), run);
        }
    });
}
