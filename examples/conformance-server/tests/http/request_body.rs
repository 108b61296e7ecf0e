//! Bodies that are too long, or do not come whole.

use std::thread;
use std::time::Duration;

use crate::support::{everywhere, new_key, post};

#[test]
fn h73_a_body_over_the_limit_is_413_with_and_without_its_length() {
    everywhere(&["--max-request-bytes", "5000"], |server| {
        let key = new_key();
        let long = |length: usize| {
            post("/orders")
                .json(&format!("\"{}\"", "x".repeat(length - 2)))
                .key(&key)
        };
        for request in [long(5001), long(5001).chunked(), long(90_000), long(90_000).chunked()] {
            server.send(&request).refuses_as("body-too-large", 413);
        }
        assert_eq!(server.runs(&key), 0);
        server.send(&long(5000).chunked()).answers(201);
    });
}

#[test]
fn h74_an_upload_that_breaks_off_leaves_no_record() {
    everywhere(&[], |server| {
        let key = new_key();
        let whole = post("/orders")
            .json("{\"amount\":1,\"note\":\"a whole body\"}")
            .key(&key);
        drop(whole.begin(server.address, Some(10)));
        drop(whole.clone().chunked().begin(server.address, Some(10)));
        thread::sleep(Duration::from_millis(200));
        assert_eq!(server.runs(&key), 0);
        server
            .send(&post("/orders").json("{\"amount\":2}").key(&key))
            .answers(201);
    });
}
