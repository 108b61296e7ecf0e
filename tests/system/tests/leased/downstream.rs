//! What is called: a process of its own that charges cards, counts, and knows a key again, for ever, for a while or not at all.
//! It is no part of what is killed.
//!
//! One line is one request: `charge KEY DELAY` is counted when it arrives and answered `charged NUMBER` after `DELAY`
//! milliseconds; `report` is answered `KEY CHARGES REQUESTS NUMBER` for each key, and `end`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use idem::EffectError;
use idem_system_tests::process::{self, Child};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

pub const ROLE: &str = "a downstream";

/// How long the downstream knows a key again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    Always,
    For(Duration),
    Never,
}

/// What one key has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// How often a card was charged.
    pub charges: u32,
    /// How often that was asked for.
    pub requests: u32,
    /// The number of the last charge, from 1.
    pub number: u64,
}

/// A running downstream.
pub struct Downstream {
    port: u16,
    _process: Child,
}

impl Downstream {
    pub fn start(memory: Memory) -> Self {
        let milliseconds = match memory {
            Memory::Always => u64::MAX,
            Memory::For(time) => u64::try_from(time.as_millis()).expect("a short time"),
            Memory::Never => 0,
        };
        let mut process = process::role(ROLE).with("REMEMBERS", milliseconds).start();
        let line = process.line().expect("the downstream says its port");
        Self {
            port: line.parse().expect("a port"),
            _process: process,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What each key has come to.
    pub fn report(&self) -> BTreeMap<String, Calls> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the downstream listens");
        stream.write_all(b"report\n").expect("the downstream hears");
        BufReader::new(stream)
            .lines()
            .map(|line| line.expect("a report has an end"))
            .take_while(|line| line != "end")
            .map(|line| {
                let words: Vec<_> = line.split(' ').collect();
                let calls = Calls {
                    charges: words[1].parse().expect("a number"),
                    requests: words[2].parse().expect("a number"),
                    number: words[3].parse().expect("a number"),
                };
                (words[0].to_owned(), calls)
            })
            .collect()
    }

    /// All keys taken together.
    pub fn total(&self) -> Calls {
        self.report().values().fold(Calls::default(), |total, calls| Calls {
            charges: total.charges + calls.charges,
            requests: total.requests + calls.requests,
            number: total.number.max(calls.number),
        })
    }

    /// Returns when that many requests have arrived.
    #[track_caller]
    pub fn wait_for_requests(&self, requests: u32) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.total().requests < requests {
            assert!(Instant::now() < deadline, "{requests} requests never arrived");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Charges a card, as an effect does. That nobody listens is the one error that says that nothing happened.
pub async fn charge(port: u16, key: &str, delay: Duration) -> Result<u64, EffectError> {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    let mut stream = tokio::io::BufReader::new(stream.map_err(EffectError::nothing_happened)?);
    let line = format!("charge {key} {}\n", delay.as_millis());
    stream.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    let number = answer.trim_end().strip_prefix("charged ");
    Ok(number.unwrap_or_default().parse()?)
}

/// The role.
pub fn play() {
    let milliseconds = process::argument("REMEMBERS").parse().expect("milliseconds");
    let books = Arc::new(Mutex::new(Books {
        remembers: Duration::from_millis(milliseconds),
        ..Books::default()
    }));
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    process::say(listener.local_addr().expect("it is bound").port());
    for stream in listener.incoming() {
        let (stream, books) = (stream.expect("a connection"), Arc::clone(&books));
        // Whoever calls may be killed in the middle of it, which is no error here.
        std::thread::spawn(move || serve(stream, &books));
    }
}

#[derive(Default)]
struct Books {
    remembers: Duration,
    number: u64,
    keys: BTreeMap<String, (Calls, Option<Instant>)>,
}

impl Books {
    fn charge(&mut self, key: &str) -> u64 {
        let (calls, charged_at) = self.keys.entry(key.to_owned()).or_default();
        calls.requests += 1;
        if charged_at.is_none_or(|at| at.elapsed() >= self.remembers) {
            self.number += 1;
            calls.charges += 1;
            calls.number = self.number;
            *charged_at = Some(Instant::now());
        }
        calls.number
    }
}

fn serve(stream: TcpStream, books: &Mutex<Books>) -> std::io::Result<()> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["charge", key, delay] => {
                let number = books.lock().expect("no panic").charge(key);
                std::thread::sleep(Duration::from_millis(delay.parse().expect("milliseconds")));
                answers.write_all(format!("charged {number}\n").as_bytes())?;
            }
            ["report"] => {
                let mut text = String::new();
                for (key, (calls, _)) in &books.lock().expect("no panic").keys {
                    text += &format!("{key} {} {} {}\n", calls.charges, calls.requests, calls.number);
                }
                answers.write_all((text + "end\n").as_bytes())?;
            }
            _ => panic!("the downstream was told `{line}`"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_downstream_knows_a_key_for_as_long_as_it_was_told() {
    let while_ = Duration::from_millis(300);
    for (memory, at_once, later) in [
        (Memory::Always, 1, 1),
        (Memory::For(while_), 1, 2),
        (Memory::Never, 2, 3),
    ] {
        let downstream = Downstream::start(memory);
        let charge = async || {
            charge(downstream.port(), "k", Duration::ZERO)
                .await
                .expect("it listens")
        };
        let first = charge().await;
        assert_eq!(
            (charge().await == first, downstream.total().charges),
            (at_once == 1, at_once)
        );
        tokio::time::sleep(while_).await;
        charge().await;
        let calls = downstream.report()["k"];
        assert_eq!((calls.charges, calls.requests), (later, 3), "{memory:?}");
    }
}
