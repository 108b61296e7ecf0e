//! What two requests under one key have to agree in.

use crate::support::{IN_MEMORY, Request, Server, everywhere, in_settings, new_key, post, request};

fn in_memory(arguments: &[&str], case: impl Fn(&Server) + Sync) {
    in_settings(IN_MEMORY, |place| case(&place.start(arguments)));
}

/// Checks that `others` are repeats of the first.
#[track_caller]
fn same(server: &Server, first: Request, others: &[Request]) {
    let key = new_key();
    let response = server.send(&first.key(&key));
    for other in others {
        server.send(&other.clone().key(&key)).replays(&response);
    }
    assert_eq!(server.runs(&key), 1);
}

/// Checks that `others` are other requests, and that they change nothing about the first.
#[track_caller]
fn different(server: &Server, first: Request, others: &[Request]) {
    let key = new_key();
    let response = server.send(&first.clone().key(&key));
    for other in others {
        let refused = server.send(&other.clone().key(&key)).refuses_as("key-reused", 422);
        assert_eq!(refused.header("retry-after"), None);
        server.send(&first.clone().key(&key)).replays(&response);
    }
    assert_eq!(server.runs(&key), 1);
}

fn json(body: &str) -> Request {
    post("/orders").json(body)
}

#[test]
fn h49_h50_same_key_other_value_is_422_and_the_record_stays() {
    everywhere(&[], |server| {
        different(
            server,
            json("{\"amount\":1}"),
            &[json("{\"amount\":2}"), json("{}"), json("[]")],
        );
        assert_eq!(server.orders(), 1);
    });
}

#[test]
fn h51_order_of_members_whitespace_and_escapes_do_not_count() {
    everywhere(&[], |server| {
        let others = [
            json("{\"b\":\"\\u0061\",\"a\":1}"),
            json(" {\n \"a\" : 1 ,\t\"b\" : \"a\" } "),
            json("{\"\\u0062\":\"a\",\"a\":1}").body("application/json; charset=utf-8", "{\"a\":1,\"b\":\"a\"}"),
        ];
        same(server, json("{\"a\":1,\"b\":\"a\"}"), &others);
    });
}

#[test]
fn h52_numbers_are_compared_by_value() {
    everywhere(&[], |server| {
        let others = ["1.0", "1e0", "10e-1", "0.1E+1", "1.000000000000000000000"];
        same(
            server,
            json("{\"n\":1}"),
            &others.map(|n| json(&format!("{{\"n\":{n}}}"))),
        );
        same(server, json("[0]"), &[json("[-0]"), json("[0.0]"), json("[-0e99]")]);
    });
}

#[test]
fn h53_null_is_not_absent() {
    in_memory(&[], |server| {
        different(
            server,
            json("{\"a\":null}"),
            &[json("{}"), json("{\"a\":0}"), json("{\"a\":\"\"}")],
        )
    });
}

#[test]
fn h54_order_of_arrays_counts() {
    in_memory(&[], |server| {
        different(server, json("[1,2]"), &[json("[2,1]"), json("[1,2,2]")])
    });
}

#[test]
fn h55_strings_are_not_normalised() {
    in_memory(&[], |server| {
        different(server, json("\"\u{e9}\""), &[json("\"e\u{301}\"")])
    });
}

#[test]
fn h56_numbers_beyond_floats_are_exact() {
    in_memory(&[], |server| {
        different(
            server,
            json("9007199254740993"),
            &[json("9007199254740992"), json("9007199254740993.1")],
        );
        different(server, json("0.1"), &[json("0.10000000000000001")]);
        different(server, json("1e400"), &[json("1e401"), json("-1e400")]);
    });
}

#[test]
fn h60_what_is_no_json_counts_as_its_bytes() {
    everywhere(&[], |server| {
        let broken = json("{\"a\":1");
        let key = new_key();
        let first = server.send(&broken.clone().key(&key)).answers(400);
        assert!(
            first.json()["error"]
                .as_str()
                .unwrap()
                .starts_with("the body is not JSON")
        );
        server.send(&broken.key(&key)).replays(&first);
        server.send(&json("{\"a\": 1").key(&key)).refuses_as("key-reused", 422);
        server.send(&json("{\"a\":1}").key(&key)).refuses_as("key-reused", 422);
        assert_eq!((server.runs(&key), server.orders()), (1, 0));
    });
}

#[test]
fn h60_a_body_that_repeats_a_member_counts_as_its_bytes() {
    in_memory(&[], |server| {
        different(
            server,
            json("{\"a\":1,\"a\":2}"),
            &[json("{\"a\":2}"), json("{\"a\":1, \"a\":2}"), json("{\"a\":2,\"a\":1}")],
        );
    });
}

#[test]
fn h62_other_bodies_are_compared_by_their_bytes() {
    in_memory(&[], |server| {
        let text = |body: &str| post("/optional").body("text/plain", body);
        different(
            server,
            text("{\"a\":1}"),
            &[text("{\"a\": 1}"), text("{\"a\":2}"), text("")],
        );
        let problem = |body: &str| post("/optional").body("application/vnd.order+json", body);
        same(server, problem("{\"a\":1}"), &[problem("{ \"a\": 1e0 }")]);
    });
}

#[test]
fn h63_values_of_the_query_count_and_the_order_of_names_does_not() {
    in_memory(&[], |server| {
        let query = |query: &str| post(&format!("/optional?{query}"));
        same(
            server,
            query("a=1&b=x+y"),
            &[query("b=x%20y&a=1"), query("b=%78+y&a=1")],
        );
        let others = ["a=1&b=2", "a=1", "a=1&b=x+z", "a=1&b=x+y&c", "b=x+y&A=1"].map(query);
        different(server, query("a=1&b=x+y"), &others);
        different(server, query("v=1&v=2"), &[query("v=2&v=1")]);
    });
}

#[test]
fn h64_the_essence_of_the_content_type_counts() {
    in_memory(&[], |server| {
        let typed = |content_type: &str| post("/optional").body(content_type, "{\"a\":1}");
        same(
            server,
            typed("application/json"),
            &[
                typed("application/json; charset=utf-8"),
                typed("Application/JSON;charset=\"UTF-8\""),
            ],
        );
        let untyped = request("POST", "/optional").body("x", "{\"a\":1}");
        different(
            server,
            typed("application/json"),
            &[typed("text/json"), typed("application/x+json"), untyped],
        );
    });
}

#[test]
fn h65_who_carries_a_request_does_not_count() {
    everywhere(&[], |server| {
        let others = [
            post("/orders").header("Authorization", "Bearer rotated"),
            post("/orders").header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            post("/orders")
                .header("User-Agent", "retry/2")
                .header("Signature", "sig1=:YWJj:"),
            post("/orders")
                .header("Date", "Mon, 30 Nov 2026 09:00:00 GMT")
                .chunked(),
        ];
        same(server, post("/orders").header("Authorization", "Bearer first"), &others);
    });
}

#[test]
fn h66_the_concrete_path_and_the_method_count() {
    everywhere(&[], |server| {
        for _ in 0..2 {
            server.send(&post("/orders").key(new_key())).answers(201);
        }
        let key = new_key();
        let first = server.send(&post("/orders/1/cancel").key(&key)).answers(200);
        for other in [
            post("/orders/2/cancel"),
            post("/orders"),
            request("PATCH", "/orders/1").json("{\"amount\":1}"),
        ] {
            server.send(&other.key(&key)).refuses_as("key-reused", 422);
        }
        server.send(&post("/orders/1/cancel").key(&key)).replays(&first);
        assert_eq!((server.runs(&key), server.orders()), (1, 2));
    });
}

#[test]
fn h67_scoped_by_operation_they_are_two_effects() {
    everywhere(&["--scope-by-operation"], |server| {
        for _ in 0..2 {
            server.send(&post("/orders").key(new_key())).answers(201);
        }
        let key = new_key();
        let [one, two] = ["/orders/1/cancel", "/orders/2/cancel"].map(|target| post(target).key(&key));
        let (first, second) = (server.send(&one).answers(200), server.send(&two).answers(200));
        assert_eq!(
            (first.json()["id"].clone(), second.json()["id"].clone()),
            (1.into(), 2.into())
        );
        server.send(&one).replays(&first);
        server.send(&two).replays(&second);
        server.send(&one.json("{}")).refuses_as("key-reused", 422);
        assert_eq!(server.runs(&key), 2);
    });
}

#[test]
fn h68_an_excluded_part_does_not_count_and_any_other_does() {
    in_memory(&["--exclude", "/requested_at", "--exclude", "/meta/trace"], |server| {
        let first = json("{\"a\":1,\"requested_at\":\"t1\",\"meta\":{\"trace\":1,\"x\":1}}");
        let others = [
            "{\"a\":1,\"requested_at\":\"t2\",\"meta\":{\"trace\":1,\"x\":1}}",
            "{\"a\":1,\"meta\":{\"x\":1}}",
            "{\"a\":1.0,\"meta\":{\"x\":1,\"trace\":[{}]}}",
        ];
        same(server, first.clone(), &others.map(json));
        let others = [
            "{\"a\":2,\"requested_at\":\"t1\",\"meta\":{\"trace\":1,\"x\":1}}",
            "{\"a\":1,\"meta\":{\"x\":2}}",
        ];
        different(server, first, &others.map(json));
    });
}

#[test]
fn h70_raw_whitespace_counts() {
    in_memory(&["--raw"], |server| {
        different(server, json("{\"a\":1}"), &[json("{\"a\": 1}"), json("{\"a\":1.0}")])
    });
}

fn multipart(boundary: &str, value: &str) -> Request {
    let body =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{value}\r\n--{boundary}--\r\n");
    post("/optional").body(&format!("multipart/form-data; boundary={boundary}"), body)
}

#[test]
fn h71_a_new_boundary_counts_unless_parts_are_compared() {
    in_memory(&[], |server| {
        different(server, multipart("b1", "v"), &[multipart("b2", "v")])
    });
    in_memory(&["--multipart-by-parts"], |server| {
        same(server, multipart("b1", "v"), &[multipart("b2", "v")]);
        different(
            server,
            multipart("b1", "v"),
            &[multipart("b2", "w"), multipart("b1", "w")],
        );
    });
}
