//! What bytes of the header are no key.

use crate::support::{IN_MEMORY, Server, in_settings, new_key, post};

fn in_memory(arguments: &[&str], case: impl Fn(&Server) + Sync) {
    in_settings(IN_MEMORY, |place| case(&place.start(arguments)));
}

/// Checks that none of these is a key where one is required, nor where one is optional.
#[track_caller]
fn refuses(server: &Server, values: &[&[u8]]) {
    for value in values {
        let shown = value.escape_ascii();
        for target in ["/orders", "/optional"] {
            let response = server.send(&post(target).key(value));
            assert_eq!(response.status, 400, "`{shown}` on {target}: {response:?}");
            response.refuses_as("key-invalid", 400);
        }
    }
    assert_eq!(server.orders(), 0);
}

#[test]
fn h03_strict_takes_no_bare_key() {
    in_memory(&["--strict-sf"], |server| {
        let key = new_key();
        server.send(&post("/orders").key(&key)).refuses_as("key-invalid", 400);
        assert_eq!(server.runs(&key), 0);
        server.send(&post("/orders").key(format!("\"{key}\""))).answers(201);
    });
}

#[test]
fn h05_a_backslash_before_anything_else_is_400() {
    in_memory(&[], |server| {
        refuses(server, &[b"\"foo\\,\"", b"\"foo\\", b"\"foo", b"\"\\a\""])
    });
}

#[test]
fn h08_bytes_beyond_ascii_are_400() {
    in_memory(&[], |server| {
        refuses(
            server,
            &[
                "\"füü\"".as_bytes(),
                "füü".as_bytes(),
                b"\"\x80\"",
                b"\xff",
                b"\"a\xe9\"",
            ],
        );
    });
}

#[test]
fn h09_control_characters_are_400() {
    // Most of these never come through an HTTP server; a tab does.
    in_memory(&[], |server| refuses(server, &[b"\"a\tb\"", b"a\tb"]));
}

#[test]
fn h10_an_empty_value_is_400_on_required_and_optional_routes() {
    in_memory(&[], |server| refuses(server, &[b"", b"   "]));
}

#[test]
fn h11_an_empty_string_is_400() {
    in_memory(&[], |server| refuses(server, &[b"\"\"", b"\"\";a=1"]));
}

#[test]
fn h12_spaces_alone_are_400() {
    in_memory(&[], |server| {
        refuses(server, &[b"\"   \"", b"\"a b\"", b"\" a\"", b"\"a \""])
    });
}

#[test]
fn h14_two_lines_are_400_equal_or_not() {
    in_memory(&[], |server| {
        let key = new_key();
        for second in [key.clone(), new_key(), format!("\"{key}\""), String::new()] {
            for target in ["/orders", "/optional"] {
                let twice = post(target).key(&key).key(&second);
                server.send(&twice).refuses_as("key-invalid", 400);
            }
            assert_eq!(server.runs(&key), 0);
        }
    });
}

#[test]
fn h16_a_bare_comma_is_400() {
    in_memory(&[], |server| {
        refuses(server, &[b"a,b", b"a, b", b"\"a\", \"b\"", b"\"a\",\"a\""])
    });
}

#[test]
fn h18_a_bare_key_with_parameters_is_400() {
    in_memory(&[], |server| refuses(server, &[b"abc;v=1", b"abc;"]));
}

#[test]
fn h20_other_items_than_strings_are_400_when_strict() {
    in_memory(&["--strict-sf"], |server| {
        refuses(
            server,
            &[
                b"12345",
                b":YWJj:",
                b"@1659578233",
                b"stainless-node-retry-K",
                b"YWJjZA==",
                b"?1",
                b"%\"abc\"",
                b"a b",
                b"a\\b",
            ],
        );
    });
}

#[test]
fn h21_booleans_display_strings_spaces_and_backslashes_are_400() {
    in_memory(&[], |server| {
        refuses(
            server,
            &[b"?1", b"%\"abc\"", b"a b", b"a\\b", b"(a)", b"\"a\"b", b"a\"b"],
        )
    });
}

#[test]
fn h25_a_key_below_the_minimum_is_400() {
    in_memory(&["--min-key-length", "16"], |server| {
        refuses(
            server,
            &[b"123456789012345", b"\"123456789012345\"", b"\"1234567890123\\\"\\\"\""],
        );
        let first = server.send(&post("/orders").key("1234567890123456")).answers(201);
        server
            .send(&post("/orders").key("\"1234567890123456\""))
            .replays(&first);
    });
}
