//! SIGTERM.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::{
    LEASED_IN_FILES, SHARED, TRANSACTIONAL_IN_FILES, eventually, everywhere, in_settings, new_key, post,
};

#[test]
fn h89_work_in_flight_is_answered_before_the_end() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/slow?ms=800").key(&key);
        thread::scope(|scope| {
            let running = scope.spawn(|| server.send(&request));
            eventually("the handler runs", || server.runs(&key) == 1);
            server.signal("TERM");
            running.join().expect("a response").answers(200);
        });
        eventually("it does not listen any more", || !server.listens());
    });
}

#[test]
fn h89_work_whose_client_has_gone_is_drained() {
    in_settings(SHARED, |place| {
        let key = new_key();
        let request = post("/insert-then/201?ms=1000").key(&key);
        let server = place.start(&[]);
        let stream = request.begin(server.address, None);
        eventually("the handler runs", || server.runs(&key) == 1);
        drop(stream);
        let (status, said) = server.stop();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""));
        let again = place.start(&[]).send(&request);
        assert_eq!(
            (again.status, again.header("idempotent-replayed")),
            (201, Some("true")),
            "{again:?}"
        );
    });
}

#[test]
fn h89_what_is_cut_off_follows_the_rules_of_a_crash() {
    in_settings(SHARED, |place| {
        let key = new_key();
        let request = post("/insert-then/201?ms=30000").key(&key);
        let server = place.start(&["--drain-s", "1"]);
        let stream = request.begin(server.address, None);
        eventually("the handler runs", || server.runs(&key) == 1);
        let began = Instant::now();
        let (status, said) = server.stop();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(said.contains("had not ended after 1s"), "{said}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        drop(stream);
        let server = place.start(&[]);
        if TRANSACTIONAL_IN_FILES.contains(&(place.storage, place.mode)) {
            assert_eq!(server.orders(), 0);
        }
        if LEASED_IN_FILES.contains(&(place.storage, place.mode)) {
            server.send(&request).refuses_as("in-flight", 409).retry_after();
            server.advance(31);
        }
        let stream = request.begin(server.address, None);
        eventually("it runs again", || server.runs(&key) == 1);
        drop(stream);
    });
}

#[test]
fn h89_an_idle_server_ends_at_once() {
    everywhere(&[], |server| {
        server.send(&post("/orders").key(new_key())).answers(201);
        let began = Instant::now();
        server.signal("TERM");
        eventually("it does not listen any more", || !server.listens());
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}
