//! Whose keys they are, and what answers tell.

use crate::support::{everywhere, get, new_key, post};

#[test]
fn h112_without_credentials_it_is_401_and_nothing_is_stored() {
    everywhere(&[], |server| {
        let key = new_key();
        for target in ["/orders", "/optional", "/status/200"] {
            let refused = server.send(&post(target).key(&key).of_nobody()).answers(401);
            assert!(refused.json()["error"].is_string());
            server.send(&post(target).key(&key).of("")).answers(401);
        }
        server.send(&get("/runs?key=a").of_nobody()).answers(401);
        assert_eq!(server.runs(&key), 0);
        server
            .send(&post("/orders").json("{\"amount\":5}").key(&key))
            .answers(201);
    });
}

#[test]
fn h112_a_replay_needs_credentials_too() {
    everywhere(&[], |server| {
        let request = post("/orders").key(new_key());
        let first = server.send(&request).answers(201);
        server.send(&request.clone().of_nobody()).answers(401);
        server.send(&request).replays(&first);
    });
}

#[test]
fn h114_the_same_key_of_two_principals_is_two_effects() {
    everywhere(&[], |server| {
        let key = new_key();
        let request = post("/orders").key(&key);
        let [alice, bob] = ["alice", "bob"].map(|name| server.send(&request.clone().of(name)).answers(201));
        assert_ne!(alice.body, bob.body);
        let names = |response: &crate::support::Response| {
            let names = response.headers.iter().map(|(name, _)| name.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&alice), names(&bob));
        server.send(&request.clone().of("bob")).replays(&bob);
        server.send(&request.of("alice")).replays(&alice);
        assert_eq!(
            (
                server.runs_of("alice", &key),
                server.runs_of("bob", &key),
                server.orders()
            ),
            (1, 1, 2)
        );
        // Nor does another request of one tell anything about that of the other.
        server
            .send(&post("/orders").json("{}").key(&key).of("carol"))
            .answers(201);
    });
}

#[test]
fn h115_any_name_is_a_principal() {
    everywhere(&[], |server| {
        let key = new_key();
        let long = "n".repeat(300);
        let names = [
            "auth0|7",
            "a.b+c@example.org",
            "Jürgen",
            "a/b",
            "%41",
            "A",
            "a",
            " x: y",
            &long,
        ];
        for name in names {
            let request = post("/orders").key(&key).of(name);
            let first = server.send(&request).answers(201);
            server.send(&request).replays(&first);
        }
        assert_eq!(server.orders(), names.len() as u64);
    });
}

#[test]
fn h117_a_refusal_tells_nothing_that_is_stored() {
    everywhere(&[], |server| {
        let key = new_key();
        let stored = "{\"card\":\"4242-first\",\"amount\":77123}";
        server.send(&post("/orders").json(stored).key(&key)).answers(201);
        let other = post("/orders")
            .json("{\"card\":\"4242-second\",\"amount\":88123}")
            .key(&key);
        let refused = server.send(&other).refuses_as("key-reused", 422);
        let text = String::from_utf8(refused.body.clone()).expect("text");
        for secret in [
            "4242",
            "77123",
            "88123",
            "card",
            "amount",
            &key,
            "\"id\"",
            "sha",
            "/orders/1",
        ] {
            assert!(!text.contains(secret), "`{secret}` in {text}");
        }
        let another = server
            .send(&post("/orders").json("{}").key(&key))
            .refuses_as("key-reused", 422);
        assert_eq!(another.body, refused.body, "one answer, whatever is different");
    });
}

#[test]
fn h122_problems_have_their_media_type_whatever_is_accepted() {
    everywhere(&[], |server| {
        for accept in ["application/json", "text/html", "*/*;q=0.1"] {
            server
                .send(&post("/orders").header("Accept", accept))
                .refuses_as("key-missing", 400);
        }
    });
}
