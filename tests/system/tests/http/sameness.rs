//! Which requests are the same.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::Ask;
use crate::stage::*;

/// Sends `first`, then `second` under the same key: whether the second is a replay; otherwise it is told that the key is used.
async fn same(service: &Service, key: &str, first: Ask, second: Ask) -> bool {
    first.key(key).send().await.fresh();
    let reply = second.key(key).send().await;
    if reply.headers.contains_key("idempotent-replayed") {
        return true;
    }
    let problem = reply.problem("key-reused", 422);
    assert!(!reply.headers.contains_key("retry-after"));
    assert_eq!(problem["retryable"], false);
    let _ = service;
    false
}

async fn service() -> Service {
    let layer = leased(Memory::fresh().await.store(), RERUN).build().unwrap();
    Service::start(&layer, created).await
}

#[tokio::test]
async fn h67_b14_operations_are_apart_where_they_scope_the_key() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .scope_by_operation()
        .methods([Method::POST, Method::PUT])
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    for (method, path) in [
        (Method::POST, "/orders/1/cancel"),
        (Method::POST, "/orders/2/cancel"),
        (Method::PUT, "/orders/1/cancel"),
    ] {
        service.ask(method.clone(), path).key("k").send().await.fresh();
        service.ask(method, path).key("k").send().await.replayed();
    }
    assert_eq!(service.runs.get(), 3);
    // Elsewhere a key names one effect, and a key with an operation is no other key.
    let plain = layer.to_builder();
    drop(plain);
    let one = leased(layer.idem().clone(), RERUN).build().unwrap();
    let service = Service::start(&one, created).await;
    service.post("/orders/1/cancel").key("k").send().await.fresh();
    service
        .post("/orders/2/cancel")
        .key("k")
        .send()
        .await
        .problem("key-reused", 422);
}

#[tokio::test]
async fn h68_excluded_parts_of_a_body_do_not_count() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .exclude("/requested_at")
        .exclude("/items/0/at")
        .build()
        .unwrap();
    let service = Service::start(&layer, created).await;
    let order = |at: u32, item: u32, sku: u32| {
        let body = format!(r#"{{"requested_at":{at},"items":[{{"at":{item},"sku":{sku}}}]}}"#);
        service.post("/orders").json(body)
    };
    assert!(same(&service, "a", order(1, 1, 7), order(2, 2, 7)).await);
    assert!(!same(&service, "b", order(1, 1, 7), order(1, 1, 8)).await);
    let without = service.post("/orders").json(r#"{"items":[{"sku":7}]}"#);
    assert!(same(&service, "c", order(1, 1, 7), without).await);
    let error = leased(layer.idem().clone(), RERUN)
        .exclude("requested_at")
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("requested_at"), "{error}");
}

#[tokio::test]
async fn h70_h71_raw_bodies_and_multipart_parts() {
    let store = Memory::fresh().await.store();
    let raw = Service::start(&leased(store.clone(), RERUN).raw().build().unwrap(), created).await;
    let json = |body: &str| raw.post("/x").json(body);
    assert!(!same(&raw, "a", json("{}"), json("{ }")).await);
    assert!(same(&raw, "b", json("{}"), json("{}")).await);
    let by_parts = leased(store, RERUN).multipart_by_parts().build().unwrap();
    let by_parts = Service::start(&by_parts, created).await;
    let form = |service: &Service, boundary: &str, value: &str| {
        let body =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{value}\r\n--{boundary}--\r\n");
        service
            .post("/x")
            .body(&format!("multipart/form-data; boundary={boundary}"), body)
    };
    assert!(!same(&raw, "c", form(&raw, "x", "1"), form(&raw, "y", "1")).await);
    assert!(same(&by_parts, "d", form(&by_parts, "x", "1"), form(&by_parts, "y", "1")).await);
    assert!(!same(&by_parts, "e", form(&by_parts, "x", "1"), form(&by_parts, "y", "2")).await);
}

#[tokio::test]
async fn h74_b22_an_upload_that_breaks_off_leaves_nothing() {
    let stage = SqliteStage::fresh().await;
    let layer = leased(stage.store(), RERUN).max_request_bytes(64).build().unwrap();
    let service = Service::start(&layer, created).await;
    for upload in [
        "Content-Length: 20\r\n\r\n{\"a\":",
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":",
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let head = "POST /orders HTTP/1.1\r\nHost: x\r\nX-Principal: ada\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n";
        stream.write_all(format!("{head}{upload}").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(stream);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(service.runs.get(), 0);
    let records: i64 =
        sqlx::query_scalar("SELECT (SELECT count(*) FROM idem_record) + (SELECT count(*) FROM idem_ledger)")
            .fetch_one(stage.store().pool())
            .await
            .unwrap();
    assert_eq!(records, 0);
    assert_eq!(layer.drain(Duration::ZERO).await, 0);
    service
        .post("/orders")
        .key("k")
        .json(r#"{"a":1}"#)
        .send()
        .await
        .is(201)
        .fresh();
}

#[tokio::test]
async fn h73_b22_a_body_over_the_limit_is_refused_while_it_is_read() {
    let layer = leased(Memory::fresh().await.store(), RERUN)
        .max_request_bytes(1 << 20)
        .build()
        .unwrap();
    let service = Service::start(&layer, async |_, request: axum::extract::Request| {
        let hint = http_body::Body::size_hint(request.body()).exact();
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        (StatusCode::CREATED, format!("{} {hint:?}", body.len()))
    })
    .await;
    let upload = |length: usize, chunked: bool| {
        let address = service.address;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let framing = if chunked {
                "Transfer-Encoding: chunked".to_owned()
            } else {
                format!("Content-Length: {length}")
            };
            let head = format!(
                "POST /x HTTP/1.1\r\nHost: x\r\nX-Principal: ada\r\nIdempotency-Key: k{length}{chunked}\r\nConnection: close\r\n{framing}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut left = length;
            while left > 0 {
                let chunk = left.min(64 * 1024);
                let mut data = vec![b'x'; chunk];
                if chunked {
                    data = [format!("{chunk:x}\r\n").as_bytes(), &data, b"\r\n"].concat();
                }
                // The server may have answered and closed.
                if stream.write_all(&data).await.is_err() {
                    break;
                }
                left -= chunk;
            }
            if chunked {
                let _ = stream.write_all(b"0\r\n\r\n").await;
            }
            let mut reply = Vec::new();
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut reply).await;
            String::from_utf8_lossy(&reply).into_owned()
        }
    };
    for chunked in [false, true] {
        let whole = upload(1 << 20, chunked).await;
        assert!(whole.starts_with("HTTP/1.1 201"), "{whole}");
        assert!(whole.ends_with("1048576 Some(1048576)"), "{whole}");
    }
    let runs = service.runs.get();
    for (length, chunked) in [((1 << 20) + 1, false), ((1 << 20) + 1, true), (20 << 20, true)] {
        let refused = upload(length, chunked).await;
        // A client that is still writing may lose the answer to the reset.
        assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 413"), "{refused}");
        assert!(refused.is_empty() || refused.contains("body-too-large"), "{refused}");
    }
    let declared = service
        .post("/x")
        .key("declared")
        .body("text/plain", vec![b'x'; (1 << 20) + 1]);
    declared.send().await.problem("body-too-large", 413);
    assert_eq!(service.runs.get(), runs);
}

#[tokio::test]
async fn b12_the_query_takes_part() {
    let service = service().await;
    let ask = |path: &str| service.post(path);
    assert!(same(&service, "a", ask("/x?b=2&a=1"), ask("/x?a=1&b=2")).await);
    assert!(same(&service, "b", ask("/x?q=%7e&r=a+b"), ask("/x?r=a%20b&q=~")).await);
    assert!(!same(&service, "c", ask("/x?v=1&v=2"), ask("/x?v=2&v=1")).await);
    assert!(!same(&service, "d", ask("/x?dry_run=true"), ask("/x")).await);
    assert!(!same(&service, "e", ask("/x?A=1"), ask("/x?a=1")).await);
}

#[tokio::test]
async fn b05_b04_json_is_compared_by_value_under_every_json_type() {
    let service = service().await;
    let body = |kind: &str, text: &str| service.post("/x").body(kind, text.to_owned());
    for (index, kind) in [
        "application/json",
        "application/problem+json; charset=utf-8",
        "Application/JSON",
    ]
    .into_iter()
    .enumerate()
    {
        let key = |name: &str| format!("{name}{index}");
        let ordered = || body(kind, r#"{"a":1,"b":[1,2]}"#);
        assert!(same(&service, &key("a"), ordered(), body(kind, r#"{ "b":[1,2],"a":1 }"#)).await);
        assert!(!same(&service, &key("b"), ordered(), body(kind, r#"{"a":1,"b":[2,1]}"#)).await);
        assert!(
            same(
                &service,
                &key("c"),
                body(kind, r#"{"hours":1.0}"#),
                body(kind, r#"{"hours":1e0}"#)
            )
            .await
        );
        assert!(
            !same(
                &service,
                &key("d"),
                body(kind, r#"{"hours":1}"#),
                body(kind, r#"{"hours":"1"}"#)
            )
            .await
        );
        assert!(
            !same(
                &service,
                &key("e"),
                body(kind, "{\"s\":\"{\\\"a\\\":1}\"}"),
                body(kind, "{\"s\":\"{ \\\"a\\\":1}\"}")
            )
            .await
        );
        assert!(same(&service, &key("f"), body(kind, "{not json"), body(kind, "{not json")).await);
    }
}

#[tokio::test]
async fn b03_b06_b07_values_that_look_alike_are_apart() {
    let service = service().await;
    let json = |text: &str| service.post("/x").json(text);
    let pairs = [
        ("9007199254740992", "9007199254740993"),
        ("-9223372036854775808", "-9223372036854775809"),
        ("18446744073709551615", "18446744073709551616"),
        (
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211456",
        ),
        (r#"{"id":1}"#, r#"{"id":1,"note":null}"#),
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":2}"#),
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":1}"#),
        (r#"{"a":{"x":1,"\u0078":2}}"#, r#"{"a":{"x":2}}"#),
    ];
    for (index, (first, second)) in pairs.into_iter().enumerate() {
        assert!(
            !same(&service, &index.to_string(), json(first), json(second)).await,
            "{first} {second}"
        );
    }
}

#[tokio::test]
async fn every_body_of_the_vectors_is_accepted_and_no_two_different_ones_replay_each_other() {
    const JCS: &str = include_str!("../../../../idem-core/vectors/jcs.jsonl");
    const REJECT: &str = include_str!("../../../../idem-core/vectors/jcs-reject.jsonl");
    let service = service().await;
    let lines = |text: &'static str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut accepted = 0;
    for (index, vector) in lines(JCS).enumerate() {
        let (input, canonical) = (vector["input"].as_str().unwrap(), vector["canonical"].as_str().unwrap());
        let key = format!("jcs-{index}");
        let first = service.post("/x").json(input).key(&key).send().await;
        first.is(201).fresh();
        service.post("/x").json(input).key(&key).send().await.is(201).replayed();
        // The canonical form rounds what no double holds; the fingerprint does not.
        let reply = service.post("/x").json(canonical).key(&key).send().await;
        let same = exact(input) == exact(canonical);
        assert_eq!(reply.status == StatusCode::CREATED, same, "{input} {canonical}");
        accepted += 1;
    }
    assert!(accepted > 270, "{accepted}");

    let rejected: Vec<String> = lines(REJECT)
        .filter(|vector| vector["kind"] == "json-text")
        .map(|vector| vector["input"].as_str().unwrap().to_owned())
        .collect();
    assert!(rejected.len() > 20, "{}", rejected.len());
    for (index, first) in rejected.iter().enumerate() {
        let key = format!("reject-{index}");
        service
            .post("/x")
            .json(first.as_str())
            .key(&key)
            .send()
            .await
            .is(201)
            .fresh();
        for second in &rejected {
            let reply = service.post("/x").json(second.as_str()).key(&key).send().await;
            let same = exact(first) == exact(second);
            assert_eq!(reply.status == StatusCode::CREATED, same, "{first} {second}");
        }
    }
}

/// A text by its value, with numbers as exact decimals; what is not JSON, or repeats a member, by its bytes. An independent
/// reading: by serde_json with its own map, and its numbers kept as they are written.
fn exact(text: &str) -> String {
    fn render(text: &str, out: &mut String) -> Option<()> {
        // serde_json's RawValue would need a feature, so this walks the text by hand: small, slow and apart from the
        // reader under test.
        let mut chars = text.char_indices().peekable();
        let value = value(text, &mut chars, 0)?;
        skip(&mut chars);
        chars.next().is_none().then(|| out.push_str(&value))
    }
    type Chars<'t> = std::iter::Peekable<std::str::CharIndices<'t>>;
    fn skip(chars: &mut Chars<'_>) {
        while chars.next_if(|(_, c)| [' ', '\t', '\n', '\r'].contains(c)).is_some() {}
    }
    fn value(text: &str, chars: &mut Chars<'_>, depth: usize) -> Option<String> {
        if depth > 127 {
            return None;
        }
        skip(chars);
        let &(start, first) = chars.peek()?;
        match first {
            '{' | '[' => {
                chars.next();
                let (close, mut parts, mut names) = (if first == '{' { '}' } else { ']' }, Vec::new(), Vec::new());
                skip(chars);
                if chars.next_if(|(_, c)| *c == close).is_some() {
                    return Some(format!("{first}{close}"));
                }
                loop {
                    skip(chars);
                    if first == '{' {
                        let name = string(text, chars)?;
                        if names.contains(&name) {
                            return None;
                        }
                        names.push(name.clone());
                        skip(chars);
                        chars.next_if(|(_, c)| *c == ':')?;
                        parts.push(format!("{name}:{}", value(text, chars, depth + 1)?));
                    } else {
                        parts.push(value(text, chars, depth + 1)?);
                    }
                    skip(chars);
                    match chars.next()?.1 {
                        ',' => {}
                        end if end == close => break,
                        _ => return None,
                    }
                }
                if first == '{' {
                    parts.sort();
                }
                Some(format!("{first}{}{close}", parts.join(",")))
            }
            '"' => string(text, chars),
            _ => {
                while chars
                    .next_if(|(_, c)| c.is_ascii_alphanumeric() || "+-.".contains(*c))
                    .is_some()
                {}
                let end = chars.peek().map_or(text.len(), |(at, _)| *at);
                let word = &text[start..end];
                // serde_json judges the grammar of the word.
                serde_json::from_str::<Value>(word)
                    .ok()
                    .map(drop)
                    .or_else(|| is_huge(word))?;
                Some(if first.is_ascii_alphabetic() {
                    word.to_owned()
                } else {
                    decimal(word)
                })
            }
        }
    }
    /// A number that is grammatical and too large for a double.
    fn is_huge(word: &str) -> Option<()> {
        let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let whole = whole.strip_prefix('-').unwrap_or(whole);
        let is_number = digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && digits(fraction)
            && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        is_number.then_some(())
    }
    fn string(text: &str, chars: &mut Chars<'_>) -> Option<String> {
        let (start, _) = chars.next_if(|(_, c)| *c == '"')?;
        loop {
            match chars.next()? {
                (_, '\\') => drop(chars.next()?),
                (end, '"') => {
                    let text: String = serde_json::from_str(&text[start..=end]).ok()?;
                    return Some(format!("{text:?}"));
                }
                _ => {}
            }
        }
    }
    /// Sign, digits without zeros at either end, and the power of ten behind them.
    fn decimal(word: &str) -> String {
        let (sign, word) = word.strip_prefix('-').map_or(("", word), |word| ("-", word));
        let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let mut power: i64 = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
        let kept = digits.trim_end_matches('0');
        power += (digits.len() - kept.len()) as i64;
        match kept.trim_start_matches('0') {
            "" => "0".to_owned(),
            kept => format!("{sign}{kept}e{power}"),
        }
    }
    let mut out = String::new();
    match render(text, &mut out) {
        Some(()) => out,
        None => format!("bytes of {text:?}"),
    }
}
