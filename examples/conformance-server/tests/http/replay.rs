//! What a repeat gets.

use std::io::{BufReader, Read};
use std::time::{Duration, Instant};

use crate::support::{Response, everywhere, get, new_key, post, request};

#[test]
fn h35_the_first_response_is_the_handlers_own() {
    everywhere(&[], |server| {
        let first = server
            .send(&post("/orders").key(new_key()).json("{\"n\": 1.50}"))
            .answers(201);
        assert_eq!(first.body, b"{\"id\":1,\"seen\":{\"n\": 1.50}}");
        assert_eq!(
            first.all("link"),
            ["</orders/1>; rel=\"self\"", "</orders>; rel=\"collection\""]
        );
        for (name, value) in [
            ("content-type", "application/json"),
            ("location", "/orders/1"),
            ("etag", "\"1-1\""),
            ("set-cookie", "last_order=1; HttpOnly"),
            ("x-request-id", "first-request"),
            ("content-length", "27"),
        ] {
            assert_eq!(first.all(name), [value], "{name}");
        }
    });
}

#[test]
fn h36_h41_a_repeat_gets_status_body_and_what_describes_them() {
    everywhere(&[], |server| {
        let (key, body) = (new_key(), "{\"n\": 1.50, \"big\": 123456789012345678901234567890}");
        let request = post("/orders").json(body).key(&key);
        let first = server.send(&request).answers(201);
        let again = server.send(&request).replays(&first);
        for name in ["content-type", "location", "etag", "link", "content-length"] {
            assert_eq!(again.all(name), first.all(name), "{name}");
        }
        for name in [
            "set-cookie",
            "x-request-id",
            "traceparent",
            "ratelimit-remaining",
            "age",
            "access-control-allow-origin",
            "transfer-encoding",
            "retry-after",
        ] {
            assert_eq!(again.all(name), [""; 0], "{name}");
        }
        assert_eq!(again.all("date").len(), 1);
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h37_repeats_do_not_keep_a_response_longer() {
    everywhere(&["--retention-s", "86400"], |server| {
        let (key, day) = (new_key(), 24 * 60 * 60);
        let request = post("/orders").key(&key);
        let first = server.send(&request).answers(201);
        for _ in 0..5 {
            server.advance(day / 6);
            server.send(&request).replays(&first);
        }
        server.advance(day / 6);
        server.send(&request).refuses_as("key-expired", 422);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h38_204_is_replayed_without_body_or_type() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/status/204").key(&key);
        let first = server.send(&request).answers(204);
        let again = server.send(&request).replays(&first);
        for response in [&first, &again] {
            assert!(response.body.is_empty(), "{response:?}");
            assert_eq!(response.header("content-type"), None, "{response:?}");
        }
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h38_redirects_and_304_are_replayed() {
    everywhere(&[], |server| {
        for status in [302, 303, 304, 307, 308] {
            let key = new_key();
            let request = post(&format!("/status/{status}")).key(&key);
            let first = server.send(&request).answers(status);
            server.send(&request).replays(&first);
            assert_eq!(server.runs(&key), 1);
        }
    });
}

#[test]
fn h40_a_body_of_any_bytes_comes_back() {
    everywhere(&[], |server| {
        for length in [0, 100, 256, 70_001] {
            let request = post(&format!("/bytes?n={length}")).key(new_key());
            let first = server.send(&request).answers(200);
            assert_eq!(first.body.len(), length);
            assert!(
                first
                    .body
                    .iter()
                    .zip((0..=255_u8).cycle())
                    .all(|(byte, expected)| *byte == expected)
            );
            let again = server.send(&request).replays(&first);
            assert_eq!(again.header("content-type"), Some("application/octet-stream"));
        }
    });
}

#[test]
fn h42_a_replay_is_a_snapshot() {
    everywhere(&[], |server| {
        let create = post("/orders").key(new_key());
        let first = server.send(&create).answers(201);
        let patch = request("PATCH", "/orders/1").json("{\"amount\":9}").key(new_key());
        let patched = server.send(&patch).answers(200);
        let cancel = post("/orders/1/cancel").key(new_key());
        server.send(&cancel).answers(200);
        server.send(&create).replays(&first);
        server.send(&patch).replays(&patched);
        let now = server.send(&get("/orders/1")).answers(200).json();
        assert_eq!(
            (&now["state"], &now["order"]["amount"]),
            (&"cancelled".into(), &9.into())
        );
    });
}

#[test]
fn h43_a_new_key_is_a_new_request() {
    everywhere(&[], |server| {
        for n in 1..=2 {
            let response = server.send(&post("/orders").key(new_key())).answers(201);
            assert_eq!(response.json()["id"], n);
        }
        assert_eq!(server.orders(), 2);
    });
}

#[test]
fn h44_a_response_over_the_cap_goes_out_in_full_and_is_not_kept() {
    everywhere(&["--max-response-bytes", "1000"], |server| {
        for target in ["/large?n=", "/chunks?n=", "/bytes?n="] {
            let (fits, key) = (post(&format!("{target}1000")).key(new_key()), new_key());
            let first = server.send(&fits).answers(200);
            server.send(&fits).replays(&first);
            let longer = post(&format!("{target}1001")).key(&key);
            assert_eq!(server.send(&longer).answers(200).body.len(), 1001, "{target}");
            for _ in 0..2 {
                server.send(&longer).refuses_as("result-unavailable", 422);
            }
            assert_eq!(server.runs(&key), 1, "{target}");
        }
    });
}

#[test]
fn h44_the_default_cap_is_one_mebibyte_of_body() {
    everywhere(&[], |server| {
        for target in ["/large?n=", "/bytes?n="] {
            let request = post(&format!("{target}{}", 1 << 20)).key(new_key());
            let first = server.send(&request).answers(200);
            assert_eq!(first.body.len(), 1 << 20);
            server.send(&request).replays(&first);
        }
    });
}

#[test]
fn h45_an_event_stream_is_not_held_back_and_not_kept() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/stream?n=2048&ms=1500").key(&key);
        let began = Instant::now();
        let mut reader = BufReader::new(request.begin(server.address, None));
        let (status, headers) = Response::read_head(&mut reader).expect("a head");
        assert_eq!(status, 200);
        assert!(
            headers.contains(&("content-type".into(), "text/event-stream".into())),
            "{headers:?}"
        );
        reader.read_exact(&mut [0; 100]).expect("the first piece");
        assert!(began.elapsed() < Duration::from_millis(1400), "{:?}", began.elapsed());
        reader.read_to_end(&mut Vec::new()).expect("the rest");
        server.send(&request).refuses_as("result-unavailable", 422);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h45_another_body_without_a_length_is_kept() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/chunks?n=5000&ms=5").key(&key);
        let first = server.send(&request).answers(200);
        assert_eq!(first.body.len(), 5000);
        let again = server.send(&request).replays(&first);
        assert_eq!(again.header("content-length"), Some("5000"));
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h48_a_handler_knows_key_and_attempt() {
    everywhere(&[], |server| {
        let key = new_key();
        let known = server.send(&post("/status/200").key(&key)).answers(200).json();
        assert_eq!((&known["key"], &known["attempt"]), (&key.into(), &1.into()));
        assert_eq!(known["is_replay"], false);
    });
}
