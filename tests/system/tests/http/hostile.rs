//! Whatever a client sends: no panic, no 500, nothing left in flight.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::Request;
use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::stage::*;

const REQUESTS: usize = 10_000;
/// At a time.
const CLIENTS: usize = 32;

/// SplitMix64: the same seed sends the same requests.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// One request as it goes over the wire, mostly wrong in some way.
fn request(dice: &mut Dice) -> Vec<u8> {
    const METHODS: [&str; 7] = ["POST", "POST", "POST", "PATCH", "PUT", "GET", "BREW"];
    const PATHS: [&str; 8] = [
        "/a",
        "/a?x=%zz&&=1",
        "/a?%ff=%FE+&a=1&a=0",
        "/%2e%2e/b",
        "//",
        "/a;b",
        "/a?",
        "/ü",
    ];
    const KEYS: [&str; 16] = [
        "k1",
        "k2",
        "\"k1\"",
        "\"k3\";a=1",
        "\"",
        "\"\\",
        "\"a\" b",
        "",
        " ",
        "a,b",
        "?1",
        ":AA==:",
        "a b",
        "\"\u{fc}\"",
        "k4;x",
        "'",
    ];
    const TYPES: [&str; 10] = [
        "application/json",
        "application/json; charset=\"",
        "text/plain",
        "multipart/form-data; boundary=x",
        "multipart/form-data; boundary=\"",
        "multipart/mixed",
        "+json",
        ";;",
        "application/x-www-form-urlencoded",
        "a/b+json;;;=",
    ];
    const BODIES: [&str; 14] = [
        "",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,\"a\":2}",
        "[1e999999999999]",
        "{\"\\ud800\":1}",
        "1e",
        "\u{feff}{}",
        "--x\r\n\r\na\r\n--x--\r\n",
        "--x",
        "{\"a\":",
        "nul",
        "[[[[[[[[",
        "-",
    ];
    let mut body = match dice.below(6) {
        0 => dice.bytes(300),
        1 => "[".repeat(dice.below(3000)).into_bytes(),
        2 => vec![b'x'; dice.below(5000)],
        _ => dice.one(&BODIES).as_bytes().to_vec(),
    };
    if dice.below(8) == 0 && !body.is_empty() {
        let at = dice.below(body.len());
        body[at] = dice.next() as u8;
    }
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
        dice.one(&METHODS),
        dice.one(&PATHS)
    )
    .into_bytes();
    if dice.below(20) > 0 {
        head.extend_from_slice(format!("X-Principal: p{}\r\n", dice.below(3)).as_bytes());
    }
    for _ in 0..[0, 1, 1, 1, 1, 1, 1, 2][dice.below(8)] {
        head.extend_from_slice(b"Idempotency-Key: ");
        match dice.below(5) {
            0 => head.extend(dice.bytes(300).into_iter().filter(|byte| !b"\r\n\0".contains(byte))),
            1 => head.extend_from_slice("k".repeat(dice.below(300)).as_bytes()),
            _ => head.extend_from_slice(dice.one(&KEYS).as_bytes()),
        }
        head.extend_from_slice(b"\r\n");
    }
    for _ in 0..[1, 1, 1, 0, 2][dice.below(5)] {
        head.extend_from_slice(format!("Content-Type: {}\r\n", dice.one(&TYPES)).as_bytes());
    }
    match dice.below(6) {
        0 => {
            head.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(1 + dice.below(700)) {
                head.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                head.extend_from_slice(chunk);
                head.extend_from_slice(b"\r\n");
            }
            if dice.below(4) > 0 {
                head.extend_from_slice(b"0\r\n\r\n");
            }
        }
        1 => {
            let length = dice.below(2 * body.len() + 2);
            head.extend_from_slice(format!("Content-Length: {length}\r\n\r\n").as_bytes());
            head.extend_from_slice(&body);
        }
        _ => {
            head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            head.extend_from_slice(&body);
        }
    }
    if dice.below(10) == 0 {
        head.truncate(dice.below(head.len()));
    }
    head
}

/// The status, if there was an answer.
async fn exchange(address: std::net::SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(bytes).await.ok()?;
    stream.shutdown().await.ok()?;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
        .await
        .expect("an end");
    std::str::from_utf8(answer.get(9..12)?).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_odd_requests_leave_nothing_behind() {
    let seed: u64 = std::env::var("IDEM_TEST_SEED").map_or(7, |seed| seed.parse().expect("a number"));
    eprintln!("IDEM_TEST_SEED={seed}");
    let stage = Memory::fresh().await;
    let layers = [
        leased(stage.store(), RERUN)
            .max_request_bytes(4000)
            .multipart_by_parts()
            .exclude("/a/0"),
        leased(stage.store(), RERUN)
            .optional()
            .max_request_bytes(4000)
            .methods([http::Method::PUT, http::Method::POST]),
        leased(stage.store(), RERUN).scope_by_operation().raw().strict_sf(),
    ];
    let handler = async |_, request: Request| {
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await;
        match body {
            Ok(body) => (StatusCode::CREATED, body.len().to_string()),
            Err(_) => (StatusCode::BAD_REQUEST, String::new()),
        }
    };
    let mut services = Vec::new();
    let mut built = Vec::new();
    for layer in layers {
        let layer = layer.build().unwrap();
        services.push(Service::start(&layer, handler).await);
        built.push(layer);
    }
    let addresses: Vec<_> = services.iter().map(|service| service.address).collect();
    static ANSWERED: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let addresses = addresses.clone();
            tokio::spawn(async move {
                let mut dice = Dice(seed.wrapping_mul(1000) + client as u64);
                for index in 0..REQUESTS / CLIENTS + 1 {
                    let bytes = request(&mut dice);
                    let status = exchange(addresses[index % addresses.len()], &bytes).await;
                    if let Some(status) = status {
                        assert!(status < 500, "{status}: {}", String::from_utf8_lossy(&bytes));
                        ANSWERED[usize::from(status / 100)].fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let answered = ANSWERED.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(answered[2] > 1000 && answered[4] > 1000, "{answered:?}");
    for layer in &built {
        assert_eq!(layer.drain(Duration::from_secs(10)).await, 0);
        assert_eq!(
            layer.idem().stuck(Duration::ZERO, 10).await.unwrap().len(),
            0,
            "nothing is in flight"
        );
    }
    // The service goes on as if nothing had been.
    services[0]
        .post("/a")
        .key("afterwards")
        .json("{}")
        .send()
        .await
        .is(201)
        .fresh();
    services[0]
        .post("/a")
        .key("afterwards")
        .json("{}")
        .send()
        .await
        .is(201)
        .replayed();
}
