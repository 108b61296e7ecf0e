//! The key in the header.

use http::{HeaderName, Method};
use serde_json::Value;

use crate::stage::*;

#[tokio::test]
async fn h24_a_custom_header_takes_the_place_of_the_default_one() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .header(HeaderName::from_static("x-request-key"))
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    let ignored = service.post("/orders").key("k").json("{}");
    ignored.clone().send().await.problem("key-missing", 400);
    assert_eq!(service.runs.get(), 0);
    let keyed = ignored.header("x-request-key", "k2");
    keyed.clone().send().await.is(201).fresh();
    keyed.key("another").send().await.is(201).replayed();
    assert_eq!(service.runs.get(), 1);
}

#[tokio::test]
async fn h25_the_shortest_key_is_configurable() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .key_length(16, 64)
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    for (length, status) in [(15, 400), (16, 201), (64, 201), (65, 400)] {
        let reply = service.post("/orders").key(&"k".repeat(length)).json("{}").send().await;
        if status == 400 {
            let problem = reply.problem("key-invalid", 400);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("16 to 64"), "{detail}");
        }
        reply.is(status);
    }
    assert_eq!(service.runs.get(), 2);
}

#[test]
fn h26_the_strict_parser_fails_what_structured_fields_fail() {
    const DATA: [&str; 3] = [
        include_str!("../../../../idem-tower/vectors/structured-fields/string.json"),
        include_str!("../../../../idem-tower/vectors/structured-fields/item.json"),
        include_str!("../../../../idem-tower/vectors/structured-fields/token.json"),
    ];
    let (mut failed, mut strings) = (0, 0);
    for case in DATA
        .iter()
        .flat_map(|data| serde_json::from_str::<Vec<Value>>(data).unwrap())
    {
        let lines: Vec<&str> = case["raw"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        // Several lines of one field are refused before they are read.
        let [line] = lines.as_slice() else { continue };
        let parsed = idem::tower::parse_key(line.as_bytes(), true);
        if case["must_fail"] == true {
            assert!(parsed.is_err(), "{}", case["name"]);
            failed += 1;
        } else if let Some(expected) = case["expected"][0].as_str() {
            // A key is 1 to 255 characters without a space.
            let is_key = !expected.contains(' ') && (1..=255).contains(&expected.len());
            assert_eq!(parsed.is_ok(), is_key, "{}", case["name"]);
            assert!(
                parsed.is_err() || parsed.unwrap().as_str() == expected,
                "{}",
                case["name"]
            );
            strings += 1;
        } else {
            assert!(parsed.is_err(), "{} is no string", case["name"]);
        }
    }
    assert!(failed >= 11 && strings >= 5, "{failed} {strings}");
}

#[tokio::test]
async fn h03_h20_strict_services_take_the_quoted_form_only() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .strict_sf()
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    for bare in ["k", "12345", ":YWJj:", "@1659578233", "YWJjZA==", "?1"] {
        let reply = service.post("/orders").key(bare).json("{}").send().await;
        reply.problem("key-invalid", 400);
    }
    assert_eq!(service.runs.get(), 0);
    service
        .post("/orders")
        .key("\"k\"")
        .json("{}")
        .send()
        .await
        .is(201)
        .fresh();
}

#[tokio::test]
async fn h10_a_malformed_key_is_refused_where_keys_are_optional() {
    let layer = leased(Memory::fresh().await.store(), RERUN).optional().build().unwrap();
    let service = Service::start(&layer, created).await;
    for malformed in ["", "\"\"", "\"   \"", "a,b", "\"a"] {
        let reply = service.post("/orders").key(malformed).json("{}").send().await;
        reply.problem("key-invalid", 400);
    }
    let twice = service
        .post("/orders")
        .key("k")
        .header_line("idempotency-key", "k")
        .json("{}");
    twice.send().await.problem("key-invalid", 400);
    assert_eq!(service.runs.get(), 0);
    // H28: none at all passes.
    for run in 1..=2 {
        let reply = service.post("/orders").json("{}").send().await;
        reply.is(201).fresh();
        assert_eq!(reply.text(), format!("run {run}"));
    }
}

#[tokio::test]
async fn h30_h32_methods_are_opted_into() {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    let service = Service::start(&layer, created).await;
    for method in [Method::PUT, Method::DELETE, Method::GET, Method::OPTIONS, Method::TRACE] {
        for _ in 0..2 {
            service
                .ask(method.clone(), "/orders/1")
                .key("k")
                .send()
                .await
                .is(201)
                .fresh();
        }
    }
    assert_eq!(service.runs.get(), 10);
    service
        .ask(Method::PATCH, "/orders/1")
        .key("k")
        .json("{}")
        .send()
        .await
        .fresh();
    service
        .ask(Method::PATCH, "/orders/1")
        .key("k")
        .json("{}")
        .send()
        .await
        .replayed();
    assert_eq!(service.runs.get(), 11);
    let all = layer
        .to_builder()
        .methods([Method::PUT, Method::DELETE])
        .build()
        .unwrap();
    let service = Service::start(&all, created).await;
    service.ask(Method::PUT, "/orders/1").key("k2").send().await.fresh();
    service.ask(Method::PUT, "/orders/1").key("k2").send().await.replayed();
    service
        .ask(Method::DELETE, "/orders/1")
        .key("k2")
        .send()
        .await
        .problem("key-reused", 422);
}

#[tokio::test]
async fn h33_what_the_predicate_skips_passes() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .skip(|parts| parts.headers.contains_key("x-dry-run"))
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    for run in 1..=2 {
        let skipped = service.post("/orders").key("k").header("x-dry-run", "1").json("{}");
        assert_eq!(skipped.send().await.fresh().text(), format!("run {run}"));
    }
    service.post("/orders").key("k").json("{}").send().await.fresh();
    service.post("/orders").key("k").json("{}").send().await.replayed();
}
