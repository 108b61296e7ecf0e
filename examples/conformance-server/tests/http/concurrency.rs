//! Requests that meet.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::{
    IN_MEMORY, LEASED_IN_FILES, Place, Request, Response, SHARED, Server, eventually, everywhere, in_settings, new_key,
    post,
};

/// Runs `case` while the first request is with its handler; the first response.
fn meanwhile(server: &Server, first: &Request, key: &str, case: impl FnOnce()) -> Response {
    thread::scope(|scope| {
        let running = scope.spawn(|| server.send(first));
        eventually("the handler runs", || server.runs(key) == 1);
        case();
        running.join().expect("a response")
    })
}

#[test]
fn h75_a_repeat_while_it_runs_is_409_with_retry_after() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/slow?ms=800").key(&key);
        let first = meanwhile(server, &request, &key, || {
            let refused = server.send(&request).refuses_as("in-flight", 409);
            assert!(refused.retry_after() <= 30, "{refused:?}");
        });
        server.send(&request).replays(&first.answers(200));
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h76_another_request_while_it_runs_is_422() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/slow?ms=800").key(&key);
        meanwhile(server, &request, &key, || {
            let other = request.clone().json("{\"amount\":2}");
            let refused = server.send(&other).refuses_as("key-reused", 422);
            assert_eq!(refused.header("retry-after"), None);
        })
        .answers(200);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h76_another_request_to_another_process_is_422_in_leased_mode() {
    in_settings(LEASED_IN_FILES, |place| {
        let (owner, asked) = (place.start(&[]), place.start(&[]));
        let key = new_key();
        let request = post("/slow?ms=800").key(&key);
        meanwhile(&owner, &request, &key, || {
            asked.send(&request).refuses_as("in-flight", 409).retry_after();
            asked.send(&request.clone().json("{}")).refuses_as("key-reused", 422);
        })
        .answers(200);
        assert_eq!((owner.runs(&key), asked.runs(&key)), (1, 0));
    });
}

/// Sends a request so often at once, in turn to each of the servers.
fn at_once(servers: &[Server], request: &Request, times: usize) -> Vec<Response> {
    thread::scope(|scope| {
        let sent: Vec<_> = (0..times)
            .map(|n| scope.spawn(move || servers[n % servers.len()].send(request)))
            .collect();
        sent.into_iter()
            .map(|response| response.join().expect("a response"))
            .collect()
    })
}

/// Checks 50 duplicates on these servers of one database.
fn one_of_fifty_runs(servers: &[Server]) {
    for target in ["/orders", "/slow?ms=200"] {
        let (key, orders) = (new_key(), servers[0].orders());
        let request = post(target).key(&key);
        let responses = at_once(servers, &request, 50);
        let is_replay = |response: &&Response| response.header("idempotent-replayed").is_some();
        let (fine, refused): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status < 300);
        for response in refused {
            response.clone().refuses_as("in-flight", 409).retry_after();
        }
        let first: Vec<_> = fine.iter().filter(|response| !is_replay(response)).collect();
        assert_eq!(first.len(), 1, "{fine:?}");
        for replay in fine.iter().filter(|response| is_replay(response)) {
            (*replay).clone().replays(first[0]);
        }
        let runs: u64 = servers.iter().map(|server| server.runs(&key)).sum();
        assert_eq!(runs, 1, "{target}");
        assert_eq!(servers[0].orders() - orders, u64::from(target == "/orders"));
    }
}

#[test]
fn h77_of_fifty_at_once_one_runs() {
    everywhere(&[], |server| one_of_fifty_runs(std::slice::from_ref(server)));
}

#[test]
fn h77_of_three_requests_under_one_key_one_runs() {
    everywhere(&[], |server| {
        let key = new_key();
        let responses: Vec<_> = thread::scope(|scope| {
            let key = &key;
            let sent: Vec<_> = (0..45)
                .map(|n| {
                    let request = post("/orders").json(&format!("{{\"amount\":{}}}", n % 3)).key(key);
                    scope.spawn(move || server.send(&request))
                })
                .collect();
            sent.into_iter()
                .map(|response| response.join().expect("a response"))
                .collect()
        });
        let others = responses.iter().filter(|response| response.status == 422);
        assert_eq!(others.count(), 30, "{responses:?}");
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h78_of_fifty_at_once_to_two_processes_one_runs() {
    in_settings(SHARED, |place| {
        let both = [place.start(&[]), place.start(&[])];
        one_of_fifty_runs(&both);
    });
}

#[test]
fn h78_two_processes_that_start_at_once_share_a_new_database() {
    in_settings(SHARED, |place| {
        let servers: Vec<_> = thread::scope(|scope| {
            let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| place.start(&[]))).collect();
            starting
                .into_iter()
                .map(|server| server.join().expect("a server"))
                .collect()
        });
        let request = post("/orders").key(new_key());
        let first = servers[0].send(&request).answers(201);
        for server in &servers {
            server.send(&request).replays(&first);
        }
    });
}

#[test]
fn h79_wait_gets_the_response_when_it_is_there() {
    everywhere(&["--wait-ms", "20000"], |server| waits(server, server));
}

#[test]
fn h79_wait_also_for_another_process() {
    // A duplicate on SQLite waits for the file in transactional mode, and for the record in leased mode.
    in_settings(SHARED, |place: &Place| {
        let servers = [
            place.start(&["--wait-ms", "20000"]),
            place.start(&["--wait-ms", "20000"]),
        ];
        waits(&servers[0], &servers[1]);
    });
}

fn waits(owner: &Server, asked: &Server) {
    let key = new_key();
    let request = post("/slow?ms=800").key(&key);
    let mut again = None;
    let first = meanwhile(owner, &request, &key, || again = Some(asked.send(&request)));
    again.expect("a response").replays(&first.answers(200));
    assert_eq!(owner.runs(&key), 1);
}

#[test]
fn h79_wait_for_one_that_fails_takes_its_turn() {
    in_settings(IN_MEMORY, |place| {
        let server = place.start(&["--wait-ms", "20000"]);
        let key = new_key();
        let request = post("/insert-then/503?ms=500").key(&key);
        let mut again = None;
        let first = meanwhile(&server, &request, &key, || again = Some(server.send(&request)));
        first.answers(503);
        again.expect("a response").answers(503);
        assert_eq!(server.runs(&key), 2);
    });
}

#[test]
fn h80_a_wait_that_ends_is_409() {
    everywhere(&["--wait-ms", "300"], |server| {
        let key = new_key();
        let request = post("/slow?ms=2500").key(&key);
        meanwhile(server, &request, &key, || {
            let began = Instant::now();
            server.send(&request).refuses_as("in-flight", 409).retry_after();
            let waited = began.elapsed();
            assert!(
                (Duration::from_millis(280)..Duration::from_secs(2)).contains(&waited),
                "{waited:?}"
            );
        });
        assert_eq!(server.runs(&key), 1);
    });
}
