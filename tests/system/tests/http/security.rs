//! Whose key it is, and what is told to whom.

use std::sync::{Arc, Mutex};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use http::{HeaderValue, StatusCode};
use idem::tower::{IdempotencyLayer, Rendered};
use idem::{ErrorKind, Tenant};
use tracing::field::{Field, Visit};

use crate::stage::*;

#[tokio::test]
async fn h112_h113_b16_what_stands_outside_of_the_layer_answers_first() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, created).await;
    let ask = || service.post("/x").key("k").json("{}");
    ask().without("x-principal").send().await.is(401);
    let looked_up: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(stage.store().pool())
        .await
        .unwrap();
    assert_eq!((service.runs.get(), looked_up), (0, 0));
    ask().send().await.is(201).fresh();
    // A recorded success is not for whoever is nobody.
    ask().without("x-principal").send().await.is(401).fresh();

    // H113: an outer limit's 429 is not recorded.
    let busy = Arc::new(Mutex::new(true));
    let limited = {
        let busy = busy.clone();
        axum::Router::new()
            .route("/x", axum::routing::post(async || "made"))
            .route_layer(layer)
            .layer(from_fn(move |request: Request, next: Next| {
                let is_busy = *busy.lock().unwrap();
                async move {
                    match is_busy {
                        true => StatusCode::TOO_MANY_REQUESTS.into_response(),
                        false => next.run(request).await,
                    }
                }
            }))
            .layer(from_fn(authenticate))
    };
    let service = Service::serve(limited, Runs::default()).await;
    let ask = || service.post("/x").key("limited").json("{}");
    ask().send().await.is(429).fresh();
    *busy.lock().unwrap() = false;
    ask().send().await.is(200).fresh();
}

#[tokio::test]
async fn h116_b16_whose_rights_were_withdrawn_gets_no_replay() {
    let layer = leased(SqliteStage::fresh().await.store(), RERUN).build().unwrap();
    let withdrawn = Arc::new(Mutex::new(false));
    let authorise = {
        let withdrawn = withdrawn.clone();
        move |request: Request, next: Next| {
            let is_withdrawn = *withdrawn.lock().unwrap();
            async move {
                match is_withdrawn {
                    true => StatusCode::FORBIDDEN.into_response(),
                    false => next.run(request).await,
                }
            }
        }
    };
    let runs = Runs::default();
    let handler = {
        let runs = runs.clone();
        async move || format!("run {}", runs.count())
    };
    let router = axum::Router::new()
        .route("/x", axum::routing::post(handler))
        .route_layer(layer)
        .layer(from_fn(authorise))
        .layer(from_fn(authenticate));
    let service = Service::serve(router, runs).await;
    let ask = || service.post("/x").key("k").json("{}");
    ask().send().await.is(200).fresh();
    *withdrawn.lock().unwrap() = true;
    assert!(ask().send().await.is(403).fresh().body.is_empty());
    *withdrawn.lock().unwrap() = false;
    assert_eq!(ask().send().await.is(200).replayed().text(), "run 1");
    assert_eq!(service.runs.get(), 1);
}

#[tokio::test]
async fn h114_b15_b09_the_same_key_of_two_principals_is_two_operations() {
    for_both_databases!(|stage| {
        let layer = leased(stage.store(), RERUN).build().unwrap();
        let service = Service::start(&layer, created).await;
        let principals = [
            "ada",
            "bob",
            "ada@example.com",
            "auth0|x",
            "urn:user:7",
            "a:b",
            "-",
            "h.0123456789abcdef0123456789abcdef",
            &Tenant::opaque("ada@example.com").to_string(),
        ];
        for (index, principal) in principals.iter().enumerate() {
            let ask = || service.post("/x").key("k").json("{}").principal(principal);
            let first = ask().send().await;
            assert_eq!(
                first.is(201).fresh().text(),
                format!("run {}", index + 1),
                "{principal}"
            );
            assert_eq!(ask().send().await.is(201).replayed().body, first.body);
        }
        // Where tenant and key are glued together, nothing moves from one to the other.
        for (principal, key) in [("a", "b:c"), ("a:b", "c"), ("ab", "c"), ("a", "bc"), ("a_ck", "c")] {
            service
                .post("/x")
                .key(key)
                .json("{}")
                .principal(principal)
                .send()
                .await
                .is(201)
                .fresh();
        }
    });
}

#[tokio::test]
async fn h115_b15_without_a_principal_nothing_is_shared() {
    let store = Memory::fresh().await.store();
    let layer = leased(store.clone(), RERUN).build().unwrap();
    // Outside of authentication.
    let router = axum::Router::new()
        .route("/x", axum::routing::post(async || "made"))
        .layer(from_fn(authenticate))
        .layer(layer);
    let service = Service::serve(router, Runs::default()).await;
    let reply = service.post("/x").key("k").json("{}").send().await;
    assert_eq!(reply.is(500).fresh().value()["type"], "about:blank");
    // An empty principal is nobody.
    let layer = leased(store.clone(), RERUN).build().unwrap();
    let service = Service::start(&layer, created).await;
    service
        .post("/x")
        .key("k")
        .json("{}")
        .principal("")
        .send()
        .await
        .is(500);
    assert_eq!(service.runs.get(), 0);
    // One namespace is for who asks for it by name.
    let shared = IdempotencyLayer::leased(store, RERUN)
        .shared_namespace()
        .build()
        .unwrap();
    let service = Service::start(&shared, created).await;
    service
        .post("/x")
        .key("k")
        .json("{}")
        .principal("ada")
        .send()
        .await
        .is(201)
        .fresh();
    service
        .post("/x")
        .key("k")
        .json("{}")
        .principal("bob")
        .send()
        .await
        .is(201)
        .replayed();
}

#[tokio::test]
async fn h117_a_refusal_holds_nothing_that_is_stored() {
    let layer = leased(SqliteStage::fresh().await.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, async |_, _: Request| {
        (
            StatusCode::CREATED,
            [("location", "/orders/stored-4711")],
            "answer-stored-4711",
        )
    })
    .await;
    let body = |text: &str| {
        service
            .post("/x")
            .key("key-stored-4711")
            .json(format!(r#"{{"note":"{text}"}}"#))
    };
    body("payload-stored-4711").send().await.is(201);
    let refused = body("other").send().await;
    refused.problem("key-reused", 422);
    let digests = ["payload-stored-4711", "answer-stored-4711"].map(|text| idem::Digest::of(text).to_string());
    let whole = format!("{:?} {}", refused.headers, refused.text());
    for secret in ["4711", "note", &digests[0][..16], &digests[1][..16]] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
}

/// That the comparison takes the same time wherever they differ is `subtle`'s part, which the type compares by; that it looks
/// at everything is shown here.
#[test]
fn h120_every_bit_of_a_fingerprint_is_compared() {
    let stored = idem::Fingerprint::from_stored(idem::Fingerprint::VERSION, [0x5a; 32]);
    for bit in 0..256 {
        let mut other = [0x5a; 32];
        other[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(
            stored,
            idem::Fingerprint::from_stored(idem::Fingerprint::VERSION, other),
            "{bit}"
        );
    }
}

#[tokio::test]
async fn h122_accept_does_not_change_the_form_of_a_problem_and_a_renderer_not_its_status() {
    let store = Memory::fresh().await.store();
    let layer = leased(store, RERUN).build().unwrap();
    let service = Service::start(&layer, created).await;
    let reply = service.post("/x").header("accept", "application/json").send().await;
    reply.problem("key-missing", 400);
    assert!(reply.header("link").unwrap().contains("rel=\"describedby\""));
    let rendered = layer
        .to_builder()
        .problem_base("https://errors.example/")
        .docs("https://docs.example/keys")
        .problem_renderer(|problem| {
            let text = format!("{} {} {}", problem.type_uri(), problem.code(), problem.status());
            Rendered::new(HeaderValue::from_static("text/plain"), text)
        })
        .build()
        .unwrap();
    let service = Service::start(&rendered, created).await;
    let reply = service.post("/x").send().await;
    reply.is(400);
    assert_eq!(reply.header("content-type"), Some("text/plain"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(
        reply.header("link"),
        Some("<https://docs.example/keys>; rel=\"describedby\"")
    );
    assert_eq!(
        reply.text(),
        "https://errors.example/key-missing key_missing 400 Bad Request"
    );
}

#[tokio::test]
async fn wrong_settings_are_refused_with_what_is_wrong() {
    use std::time::Duration;
    let store = Memory::fresh().await.store();
    let builder = || leased(store.clone(), RERUN);
    for (builder, words) in [
        (builder().retention(Duration::ZERO), "retention"),
        (builder().retention(Duration::from_secs(1)), "lease"),
        (builder().retention(DAY / 2), "remember"),
        (builder().key_length(0, 9), "1 to 255"),
        (builder().key_length(9, 8), "9 to 8"),
        (builder().key_length(1, 256), "256"),
        (builder().methods([http::Method::GET]), "GET"),
        (builder().exclude("a"), "`a`"),
        (builder().docs("a\nb"), "URI"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn h119_logs_show_eight_characters_of_a_key_at_most() {
    let seen = Seen::default();
    // With one subscriber in the process, tracing asks that of whichever thread reaches a place first, which may be another
    // test's without any; with two it asks both.
    let _second = tracing::Dispatch::new(Seen::default());
    let _guard = tracing::subscriber::set_default(seen.clone());
    tracing::callsite::rebuild_interest_cache();
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).build().unwrap();
    let key = "0123456789abcdef-secret-key";
    let on_record = idem::ClientKey::parse(key)
        .unwrap()
        .under(&Tenant::parse("ada").unwrap());
    let service = Service::start(&layer, async |_, request: Request| match request.uri().path() {
        "/panic" => panic!("on purpose"),
        "/failed" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => "made".into_response(),
    })
    .await;
    for path in ["/x", "/x", "/y", "/failed", "/panic"] {
        let key = if path.len() == 2 {
            key.to_owned()
        } else {
            format!("{key}{}", path.len())
        };
        service.post(path).key(&key).json("{}").send().await;
    }
    sqlx::query("DROP TABLE idem_ledger_detail")
        .execute(stage.store().pool())
        .await
        .unwrap();
    service.post("/x").key(&format!("{key}!")).json("{}").send().await;
    let text = seen.0.lock().unwrap().clone();
    assert!(text.contains("idempotency.call"), "the log was seen: {text}");
    assert!(text.contains(on_record.short()), "{text}");
    for secret in [
        key,
        &key[..9],
        on_record.as_str(),
        &on_record.as_str()[on_record.as_str().len() - 40..][..9],
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// Everything that spans and events say.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<String>>);

impl Visit for &Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Seen {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("idem")
    }

    fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.0.lock().unwrap().push_str(attributes.metadata().name());
        attributes.record(&mut &*self);
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut &*self);
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut &*self);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
