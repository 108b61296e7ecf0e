//! One connection: a thread for what the client sends, one for what PostgreSQL answers.

use std::io::{Read, Result, Write};
use std::sync::{Arc, Mutex};

use super::fault::{Action, Side};
use super::message::{Message, Opening};
use super::proxy::Shared;
use super::request::{Requests, Step};
use super::stream::Stream;

/// Serves a client until either side ends the connection.
pub(crate) fn serve(client: Stream, shared: &Arc<Shared>) {
    // Errors are the ends of connections; each side hears of them by losing its own.
    let _ = try_serve(client, shared);
}

fn try_serve(mut client: Stream, shared: &Arc<Shared>) -> Result<()> {
    let opening = loop {
        match Opening::read(&mut client)? {
            // "No", so that the messages stay readable.
            Opening::Encryption => client.write_all(b"N")?,
            other => break other,
        }
    };
    let mut server = shared.server.connect()?;
    match opening {
        Opening::Encryption => unreachable!("the loop goes on after a request for encryption"),
        Opening::Cancel(bytes) => {
            server.write_all(&bytes)?;
            // PostgreSQL closes the connection when it has acted, which is what the client waits for.
            server.read(&mut [0]).map(drop)
        }
        Opening::Startup(bytes) => {
            let Some(id) = shared.enter([client.try_clone()?, server.try_clone()?]) else {
                return Ok(());
            };
            server.write_all(&bytes)?;
            let lost = Arc::default();
            let answers = Answers {
                server: server.try_clone()?,
                client: client.try_clone()?,
                lost: Arc::clone(&lost),
            };
            let answering = {
                let shared = Arc::clone(shared);
                std::thread::spawn(move || answers.relay(&shared))
            };
            let result = forward(&mut client, &mut server, &lost, shared);
            client.shutdown();
            server.shutdown();
            let _ = answering.join();
            shared.leave(id);
            result
        }
    }
}

/// The round trip whose answer is not to be relayed, counted from 1, and what is done instead.
type Lost = Mutex<Option<(usize, Action)>>;

fn forward(client: &mut Stream, server: &mut Stream, lost: &Lost, shared: &Shared) -> Result<()> {
    let mut requests = Requests::default();
    let mut gathered = Vec::new();
    let mut trips = 0;
    loop {
        let message = Message::read(client)?;
        let step = requests.take(&message);
        gathered.extend_from_slice(&message.bytes);
        if let Step::Complete(trip) = step {
            trips += 1;
            match shared.count(trip) {
                Some((Side::Before, action)) => {
                    shared.strike(action);
                    if action == Action::Cut {
                        return Ok(());
                    }
                }
                Some((Side::After, action)) => {
                    *lost.lock().expect("no thread of the wire panics") = Some((trips, action));
                }
                None => {}
            }
        } else if matches!(step, Step::Gather) {
            continue;
        }
        server.write_all(&gathered)?;
        gathered.clear();
    }
}

struct Answers {
    server: Stream,
    client: Stream,
    lost: Arc<Lost>,
}

impl Answers {
    fn relay(mut self, shared: &Shared) {
        let _ = self.try_relay(shared);
        self.client.shutdown();
        self.server.shutdown();
    }

    fn try_relay(&mut self, shared: &Shared) -> Result<()> {
        // PostgreSQL says that it is ready once after start-up and once after each round trip, so the number of times it has
        // said so is the number of the round trip that it answers now.
        let mut ready = 0;
        loop {
            let message = Message::read(&mut self.server)?;
            let lost = self
                .lost
                .lock()
                .expect("no thread of the wire panics")
                .take_if(|(trip, _)| *trip == ready);
            let Some((_, action)) = lost else {
                ready += usize::from(message.kind == READY_FOR_QUERY);
                self.client.write_all(&message.bytes)?;
                continue;
            };
            let mut withheld = message.bytes;
            let mut kind = message.kind;
            while kind != READY_FOR_QUERY {
                let message = Message::read(&mut self.server)?;
                withheld.extend_from_slice(&message.bytes);
                kind = message.kind;
            }
            shared.strike(action);
            if action == Action::Cut {
                return Ok(());
            }
            ready += 1;
            self.client.write_all(&withheld)?;
        }
    }
}

const READY_FOR_QUERY: u8 = b'Z';
