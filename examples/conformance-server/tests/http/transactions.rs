//! Effects that are rows in the database of the records.

use crate::support::{LEASED, TRANSACTIONAL, in_settings, new_key, post};

#[test]
fn h100_what_is_not_stored_is_rolled_back() {
    in_settings(TRANSACTIONAL, |place| {
        let server = place.start(&[]);
        for status in [500, 503, 401, 403, 408, 429] {
            let key = new_key();
            let request = post(&format!("/insert-then/{status}")).key(&key);
            for run in 1..=2 {
                server.send(&request).answers(status);
                assert_eq!((server.runs(&key), server.orders()), (run, 0), "{status}");
            }
            // No record: the key is free for anything.
            server.send(&post("/status/200").key(&key)).answers(200);
        }
    });
}

#[test]
fn h100b_a_stored_refusal_is_rolled_back_and_replayed() {
    in_settings(TRANSACTIONAL, |place| {
        let server = place.start(&[]);
        for status in [400, 404, 409, 422] {
            let key = new_key();
            let request = post(&format!("/insert-then/{status}")).key(&key);
            let first = server.send(&request).answers(status);
            assert_eq!(server.orders(), 0, "{status}");
            server.send(&request).replays(&first);
            server.send(&request.json("{}")).refuses_as("key-reused", 422);
            assert_eq!((server.runs(&key), server.orders()), (1, 0), "{status}");
        }
    });
}

#[test]
fn h100b_a_stored_success_is_committed() {
    in_settings(TRANSACTIONAL, |place| {
        let server = place.start(&[]);
        for (orders, status) in (1..).zip([200, 201, 202, 204, 303]) {
            let key = new_key();
            let request = post(&format!("/insert-then/{status}")).key(&key);
            let first = server.send(&request).answers(status);
            server.send(&request).replays(&first);
            assert_eq!((server.runs(&key), server.orders()), (1, orders), "{status}");
        }
    });
}

#[test]
fn h100_apart_from_the_record_a_row_stands_whatever_the_status() {
    in_settings(LEASED, |place| {
        let server = place.start(&[]);
        for (orders, status) in (1..).zip([500, 403, 422, 201]) {
            let request = post(&format!("/insert-then/{status}")).key(new_key());
            server.send(&request).answers(status);
            assert_eq!(server.orders(), orders, "{status}");
        }
    });
}
