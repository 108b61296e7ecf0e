//! What becomes of old responses.

use crate::support::{Server, everywhere, new_key, post};

const DAY: i64 = 24 * 60 * 60;

/// Checks that a response is replayed until shortly before `retention` is over, and what a repeat then gets.
fn kept_for(server: &Server, retention: i64, refused: Option<&str>) {
    let key = new_key();
    let request = post("/orders").key(&key);
    let first = server.send(&request).answers(201);
    server.advance(retention - 60);
    server.send(&request).replays(&first);
    server.advance(60);
    match refused {
        Some(slug) => {
            server.send(&request).refuses_as(slug, 422);
            server.send(&request.json("{}")).refuses_as("key-reused", 422);
            assert_eq!((server.runs(&key), server.orders()), (1, 1));
        }
        None => {
            let second = server.send(&request).answers(201);
            server.send(&request).replays(&second);
            assert_eq!((server.runs(&key), server.orders()), (2, 2));
        }
    }
}

#[test]
fn h104_stripe_v1_keeps_a_response_for_a_day() {
    everywhere(&["--profile", "stripe_v1"], |server| kept_for(server, DAY, None));
}

#[test]
fn h104_h106_by_default_it_is_kept_for_90_days_and_then_known_from_the_ledger() {
    everywhere(&[], |server| kept_for(server, 90 * DAY, Some("key-expired")));
}

#[test]
fn h106_tombstones_remember_without_a_ledger() {
    let arguments = ["--without-ledger", "--retention-s", "86400", "--tombstones-s", "86400"];
    everywhere(&arguments, |server| {
        let key = new_key();
        let request = post("/orders").key(&key);
        let first = server.send(&request).answers(201);
        server.advance(DAY - 60);
        server.send(&request).replays(&first);
        server.advance(61);
        server.send(&request).refuses_as("key-expired", 422);
        server.advance(DAY);
        server.send(&request).answers(201);
        assert_eq!(server.runs(&key), 2);
    });
}

#[test]
fn h107_without_a_ledger_an_expired_key_is_a_new_one() {
    everywhere(&["--without-ledger", "--retention-s", "86400"], |server| {
        kept_for(server, DAY, None)
    });
}

#[test]
fn h107_it_may_be_a_key_of_another_request() {
    everywhere(&["--without-ledger", "--retention-s", "86400"], |server| {
        let key = new_key();
        server.send(&post("/orders").key(&key)).answers(201);
        server.advance(DAY);
        server
            .send(&post("/orders").json("{\"amount\":2}").key(&key))
            .answers(201);
    });
}

#[test]
fn h106_an_expired_refusal_is_no_effect() {
    // Nothing happened under the key, so the ledger has nothing that stands.
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/status/422").key(&key);
        server.send(&request).answers(422);
        server.advance(90 * DAY);
        server.send(&request).answers(422);
        assert_eq!(server.runs(&key), 2);
    });
}
