//! What bytes of the header are which key.

use crate::support::{IN_MEMORY, everywhere, in_settings, new_key, post};

#[test]
fn h01_h02_a_quoted_and_a_bare_key_are_one_key() {
    everywhere(&[], |server| {
        let key = new_key();
        let first = server.send(&post("/orders").key(format!("\"{key}\""))).answers(201);
        assert_eq!(server.runs(&key), 1);
        server.send(&post("/orders").key(&key)).replays(&first);
        server
            .send(&post("/orders").key(format!("\"{key}\";v=1")))
            .replays(&first);
        assert_eq!((server.runs(&key), server.orders()), (1, 1));
    });
}

#[test]
fn h04_escapes_in_a_string_are_taken_away() {
    everywhere(&[], |server| {
        let request = post("/status/200").key(r#""a\"b\\c""#);
        let first = server.send(&request).answers(200);
        assert_eq!(first.json()["key"], r#"a"b\c"#);
        server.send(&request).replays(&first);
        assert_eq!(server.runs(r#"a"b\c"#), 1);
    });
}

#[test]
fn h13_255_decoded_bytes_are_a_key_and_256_are_not() {
    everywhere(&[], |server| {
        let longest = "k".repeat(255);
        let first = server.send(&post("/orders").key(format!("\"{longest}\""))).answers(201);
        server.send(&post("/orders").key(&longest)).replays(&first);
        let escaped = format!("\"{}\"", r#"\""#.repeat(255));
        let first = server.send(&post("/orders").key(&escaped)).answers(201);
        server.send(&post("/orders").key(&escaped)).replays(&first);
        for longer in [
            "k".repeat(256),
            format!("\"{}\"", "k".repeat(256)),
            format!("\"{}\"", r"\\".repeat(256)),
        ] {
            server.send(&post("/orders").key(longer)).refuses_as("key-invalid", 400);
        }
        assert_eq!(server.orders(), 2);
    });
}

#[test]
fn h20_what_clients_send_bare_is_a_key_as_it_stands() {
    in_settings(IN_MEMORY, |place| {
        let server = place.start(&[]);
        for key in [
            "12345",
            ":YWJj:",
            "@1659578233",
            "stainless-node-retry-3a4f",
            "YWJjZA==",
            "!#$%&'*+-.^_`|~:/=@",
        ] {
            let first = server.send(&post("/status/200").key(key)).answers(200);
            assert_eq!(first.json()["key"], key);
            server
                .send(&post("/status/200").key(format!("\"{key}\"")))
                .replays(&first);
            assert_eq!(server.runs(key), 1);
        }
    });
}

#[test]
fn h23_keys_that_differ_in_case_are_two_keys() {
    everywhere(&[], |server| {
        for key in ["Key-a", "key-a", "key-A"] {
            server.send(&post("/orders").key(key)).answers(201);
            assert_eq!(server.runs(key), 1);
        }
        assert_eq!(server.orders(), 3);
    });
}

#[test]
fn h24_another_header_takes_the_place_of_the_default() {
    in_settings(IN_MEMORY, |place| {
        let server = place.start(&["--header", "X-Request-Token"]);
        let key = new_key();
        server.send(&post("/orders").key(&key)).refuses_as("key-missing", 400);
        let request = post("/orders").header("x-request-token", &key).key("a,b");
        let first = server.send(&request).answers(201);
        server.send(&request).replays(&first);
        assert_eq!(server.runs(&key), 1);
    });
}
