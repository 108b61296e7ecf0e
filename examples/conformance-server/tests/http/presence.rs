//! Which requests the layer has to do with.

use crate::support::{everywhere, get, new_key, post, request};

#[test]
fn h27_a_missing_key_is_400_and_says_where_to_read() {
    everywhere(&[], |server| {
        let response = server.send(&post("/orders")).refuses_as("key-missing", 400);
        let link = response.header("link").expect("a link");
        assert!(
            link.starts_with("<https://") && link.ends_with(">; rel=\"describedby\""),
            "{link}"
        );
        assert_eq!(server.orders(), 0);
    });
}

#[test]
fn h28_an_optional_key_may_be_absent() {
    everywhere(&[], |server| {
        for _ in 0..2 {
            server.send(&post("/optional")).answers(201);
        }
        let key = new_key();
        let first = server.send(&post("/optional").key(&key)).answers(201);
        server.send(&post("/optional").key(&key)).replays(&first);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h29_safe_methods_pass() {
    everywhere(&[], |server| {
        let key = new_key();
        server.send(&post("/orders").key(new_key())).answers(201);
        for method in ["GET", "HEAD"] {
            for _ in 0..2 {
                // A response of HEAD has the length of a body that does not come.
                let stream = request(method, "/orders/1").key(&key).begin(server.address, None);
                let head = crate::support::Response::read_head(&mut std::io::BufReader::new(stream));
                let (status, headers) = head.expect("a response");
                assert_eq!(status, 200, "{method}");
                assert!(headers.iter().all(|(name, _)| name != "idempotent-replayed"));
            }
        }
        for method in ["OPTIONS", "TRACE"] {
            server.send(&request(method, "/orders").key(&key)).answers(405);
        }
        server.send(&post("/orders").key(&key)).answers(201);
    });
}

#[test]
fn h30_put_and_delete_pass_unless_they_are_asked_for() {
    everywhere(&["--default-methods"], |server| {
        server.send(&post("/orders").key(new_key())).answers(201);
        let key = new_key();
        let put = request("PUT", "/orders/1").json("{\"amount\":2}").key(&key);
        for _ in 0..2 {
            server.send(&put).answers(200);
        }
        server.send(&put.json("{\"amount\":3}")).answers(200);
        server.send(&request("DELETE", "/orders/1").key(&key)).answers(200);
        server.send(&request("DELETE", "/orders/1").key(&key)).answers(404);
    });
}

#[test]
fn h30_put_and_delete_are_protected_where_they_are_asked_for() {
    everywhere(&[], |server| {
        server.send(&post("/orders").key(new_key())).answers(201);
        let (put_key, delete_key) = (new_key(), new_key());
        let put = request("PUT", "/orders/1").json("{\"amount\":2}");
        server.send(&put).refuses_as("key-missing", 400);
        let put = put.key(&put_key);
        let first = server.send(&put).answers(200);
        let delete = request("DELETE", "/orders/1").key(&delete_key);
        let deleted = server.send(&delete).answers(200);
        server.send(&put).replays(&first);
        server.send(&delete).replays(&deleted);
        assert_eq!(
            (server.runs(&put_key), server.runs(&delete_key), server.orders()),
            (1, 1, 0)
        );
    });
}

#[test]
fn h32_patch_is_protected_as_post_is() {
    everywhere(&["--default-methods"], |server| {
        server.send(&post("/orders").key(new_key())).answers(201);
        let key = new_key();
        let patch = request("PATCH", "/orders/1").json("{\"amount\":2}");
        server.send(&patch).refuses_as("key-missing", 400);
        let first = server.send(&patch.clone().key(&key)).answers(200);
        server.send(&patch.clone().key(&key)).replays(&first);
        server.send(&patch.json("{}").key(&key)).refuses_as("key-reused", 422);
        assert_eq!(server.runs(&key), 1);
    });
}

#[test]
fn h34_what_no_route_matches_leaves_no_record() {
    everywhere(&[], |server| {
        let key = new_key();
        for _ in 0..2 {
            server.send(&post("/nowhere").key(&key)).answers(404);
            server.send(&post("/orders/1").key(&key)).answers(405);
            server.send(&request("PATCH", "/orders").key(&key)).answers(405);
        }
        assert_eq!(server.runs(&key), 0);
        server.send(&post("/orders").key(&key)).answers(201);
    });
}

#[test]
fn h34_a_route_that_finds_nothing_is_no_missing_route() {
    everywhere(&[], |server| {
        let key = new_key();
        let cancel = post("/orders/77/cancel").key(&key);
        let first = server.send(&cancel).answers(404);
        server.send(&cancel).replays(&first);
        assert_eq!(server.runs(&key), 1);
        server.send(&get("/orders/77")).answers(404);
    });
}
