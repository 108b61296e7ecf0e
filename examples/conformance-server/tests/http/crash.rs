//! Owners that are killed, stopped or left.

use std::thread;
use std::time::Duration;

use crate::support::{
    LEASED_IN_FILES, Request, SHARED, Server, TRANSACTIONAL_IN_FILES, eventually, everywhere, in_settings, new_key,
    post,
};

/// Kills `owner` while it serves the request.
fn killed_while_it_serves(owner: Server, request: &Request, key: &str) {
    let stream = request.begin(owner.address, None);
    eventually("the handler runs", || owner.runs(key) == 1);
    owner.kill();
    drop(stream);
}

const LEASE_S: u64 = 30;

#[test]
fn h83_rerun_after_the_lease_of_a_killed_owner() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=60000").key(&key);
        killed_while_it_serves(place.start(&[]), &request, &key);
        let server = place.start(&[]);
        let refused = server.send(&request).refuses_as("in-flight", 409);
        assert!(refused.retry_after() <= LEASE_S, "{refused:?}");
        server.advance(20);
        let refused = server.send(&request).refuses_as("in-flight", 409);
        assert!(refused.retry_after() <= LEASE_S - 20, "{refused:?}");
        server.send(&request.clone().json("{}")).refuses_as("key-reused", 422);
        assert_eq!(server.runs(&key), 0);
        server.advance(11);
        let stream = request.begin(server.address, None);
        eventually("it runs again", || server.runs(&key) == 1);
        server.send(&request).refuses_as("in-flight", 409);
        drop(stream);
    });
}

#[test]
fn h83_the_second_attempt_knows_its_number_and_sends_the_same_downstream_key() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=3000").key(&key);
        killed_while_it_serves(place.start(&[]), &request, &key);
        let server = place.start(&[]);
        server.advance(31);
        let second = server.send(&request).answers(200);
        assert_eq!(second.json()["attempt"], 2);
        server.send(&request).replays(&second);
        // The same key of the same principal elsewhere has the same one.
        let elsewhere = crate::support::Server::start(&["--database", "memory"]);
        let known = elsewhere.send(&request).answers(200).json();
        assert_eq!(known["downstream_key"], second.json()["downstream_key"]);
    });
}

#[test]
fn h83_nothing_runs_again_when_the_other_side_has_forgotten_the_key() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=60000").key(&key);
        let an_hour = ["--remembered-for-s", "3600"];
        killed_while_it_serves(place.start(&an_hour), &request, &key);
        let server = place.start(&an_hour);
        server.advance(3601);
        for _ in 0..2 {
            server.send(&request).refuses_as("outcome-unknown", 503).retry_after();
        }
        assert_eq!(server.runs(&key), 0);
    });
}

#[test]
fn h84_hold_after_the_lease_of_a_killed_owner() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=60000").key(&key);
        let hold = ["--recovery", "hold"];
        killed_while_it_serves(place.start(&hold), &request, &key);
        let server = place.start(&hold);
        server.send(&request).refuses_as("in-flight", 409).retry_after();
        server.advance(31);
        for _ in 0..2 {
            server.send(&request).refuses_as("outcome-unknown", 503).retry_after();
        }
        server.advance(100 * 24 * 60 * 60);
        server.send(&request).refuses_as("outcome-unknown", 503);
        server.send(&request.json("{}")).refuses_as("key-reused", 422);
        assert_eq!(server.runs(&key), 0);
    });
}

#[test]
fn h84_the_stricter_recovery_counts() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=60000").key(&key);
        killed_while_it_serves(place.start(&["--recovery", "hold"]), &request, &key);
        let server = place.start(&[]);
        server.advance(31);
        server.send(&request).refuses_as("outcome-unknown", 503);
        assert_eq!(server.runs(&key), 0);
    });
}

#[test]
fn h85_an_owner_that_stalled_is_told_what_stands() {
    in_settings(LEASED_IN_FILES, |place| {
        let key = new_key();
        let request = post("/slow?ms=1500").key(&key);
        let (stalled, other) = (place.start(&[]), place.start(&[]));
        thread::scope(|scope| {
            let late = scope.spawn(|| stalled.send(&request));
            eventually("the handler runs", || stalled.runs(&key) == 1);
            stalled.signal("STOP");
            other.advance(31);
            let second = other.send(&request).answers(200);
            assert_eq!(second.json()["attempt"], 2);
            stalled.signal("CONT");
            late.join().expect("a response").replays(&second);
            for server in [&stalled, &other] {
                server.send(&request).replays(&second);
            }
        });
        assert_eq!((stalled.runs(&key), other.runs(&key)), (1, 1));
    });
}

#[test]
fn h87_a_client_that_goes_away_does_not_stop_the_work() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/insert-then/201?ms=600").key(&key);
        let stream = request.begin(server.address, None);
        eventually("the handler runs", || server.runs(&key) == 1);
        drop(stream);
        eventually("the work is recorded", || server.send(&request).status != 409);
        let again = server.send(&request);
        assert_eq!(
            (again.status, again.header("idempotent-replayed")),
            (201, Some("true")),
            "{again:?}"
        );
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h87_a_client_that_goes_away_while_the_body_comes_does_not_stop_it() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/chunks?n=30000&ms=10").key(&key);
        let stream = request.begin(server.address, None);
        // In leased mode the body is on its way by then, in transactional mode it is collected.
        eventually("the handler runs", || server.runs(&key) == 1);
        thread::sleep(Duration::from_millis(50));
        drop(stream);
        eventually("the work is recorded", || server.send(&request).status != 409);
        let again = server.send(&request);
        assert_eq!(
            (again.status, again.header("idempotent-replayed")),
            (200, Some("true")),
            "{again:?}"
        );
        assert_eq!((server.runs(&key), again.body.len()), (1, 30_000));
    });
}

#[test]
fn h99_killed_before_the_commit_nothing_remains() {
    in_settings(TRANSACTIONAL_IN_FILES, |place| {
        let key = new_key();
        let request = post("/insert-then/201?ms=60000").key(&key);
        killed_while_it_serves(place.start(&[]), &request, &key);
        let server = place.start(&[]);
        assert_eq!(server.orders(), 0);
        // Not even the fingerprint: another request may take the key. PostgreSQL may still be ending the transaction.
        let other = post("/orders").key(&key);
        eventually("the key is free", || server.send(&other).status != 409);
        let again = server.send(&other);
        assert_eq!(
            (again.status, again.header("idempotent-replayed")),
            (201, Some("true")),
            "{again:?}"
        );
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h99_killed_after_the_commit_the_repeat_replays() {
    in_settings(SHARED, |place| {
        let key = new_key();
        let request = post("/orders").key(&key);
        let owner = place.start(&[]);
        let first = owner.send(&request).answers(201);
        owner.kill();
        let server = place.start(&[]);
        server.send(&request).replays(&first);
        assert_eq!((server.runs(&key), server.orders()), (0, 1));
    });
}

#[test]
fn h99_killed_at_odd_moments_effect_and_record_agree() {
    in_settings(TRANSACTIONAL_IN_FILES, |place| {
        let mut expected = 0;
        for moment in 0..6 {
            let key = new_key();
            let request = post("/orders").key(&key);
            let owner = place.start(&[]);
            let stream = request.begin(owner.address, None);
            thread::sleep(Duration::from_millis(moment * 2));
            owner.kill();
            drop(stream);
            expected += 1;
            let server = place.start(&[]);
            eventually("the repeat is answered", || server.send(&request).status == 201);
            assert_eq!(server.orders(), expected, "killed after {moment} times 2 ms");
        }
    });
}
