//! The airline of `--mode leased`: a process of its own that carries out effects and knows a downstream key again.
//!
//! It is no part of what is killed, and shares nothing with idem's database. One line of JSON on its port is one request and
//! gets one line. An effect is a line in its file, written and synced before it is acknowledged; a repeat of the downstream
//! key gets the first answer and writes nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::recording::Call;

/// What the airline is asked.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    CarryOut(Order),
    /// How often each key was carried out.
    Report,
}

/// One call of one tool.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    /// By which the airline knows a repeat.
    pub downstream_key: String,
    /// For `books`, which compares by it; the airline looks at nothing but the downstream key.
    pub key: String,
    pub action: String,
    pub arguments: String,
    /// What the tool answered when the call was recorded, and so what the airline is to answer.
    pub result: String,
}

impl Order {
    /// The order of a call. Its downstream key is that of the attempt, and added there.
    pub fn of(call: &Call) -> Self {
        Self {
            downstream_key: String::new(),
            key: call.key.as_str().to_owned(),
            action: call.tool.action().to_owned(),
            arguments: call.arguments.clone(),
            result: call.result.clone(),
        }
    }
}

/// What the airline answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// It stands, since now or before, as the effect of this number.
    Done {
        number: u64,
        result: String,
    },
    /// The tool says no: there was no effect under this downstream key, and there is none now.
    Refused(String),
    Report(BTreeMap<String, usize>),
    /// The file cannot be written; whether the effect stands is known after a restart.
    Broken(String),
}

/// Serves until the end of standard input, having said its port.
pub fn run(file: &Path) -> std::io::Result<()> {
    let books = Arc::new(Mutex::new(Books::open(file)?));
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("{}", listener.local_addr()?.port());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let books = Arc::clone(&books);
            // Whoever asks may be killed in the middle of it, which is no error here.
            std::thread::spawn(move || serve(stream, &books));
        }
    });
    // Its parent holds the other end: an airline without a parent has no purpose.
    std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn serve(mut stream: TcpStream, books: &Mutex<Books>) -> std::io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        let request = serde_json::from_str(&line?)?;
        let response = {
            let mut books = books.lock().unwrap_or_else(PoisonError::into_inner);
            match request {
                Request::CarryOut(order) => books.carry_out(order),
                Request::Report => Response::Report(books.report()),
            }
        };
        let mut text = serde_json::to_vec(&response)?;
        text.push(b'\n');
        stream.write_all(&text)?;
    }
    Ok(())
}

/// The effects so far, in a file of one line each.
struct Books {
    file: File,
    orders: Vec<Order>,
    /// The number of the effect by its downstream key.
    known: HashMap<String, usize>,
}

impl Books {
    fn open(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => std::io::Error::other("another agent-replay has it open"),
            TryLockError::Error(error) => error,
        })?;
        let mut text = String::new();
        (&file).read_to_string(&mut text)?;
        // A line without an end was never acknowledged.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        let mut books = Self {
            file,
            orders: Vec::new(),
            known: HashMap::new(),
        };
        for line in text[..whole].lines() {
            books.enter(serde_json::from_str(line)?);
        }
        Ok(books)
    }

    fn carry_out(&mut self, order: Order) -> Response {
        if let Some(&number) = self.known.get(&order.downstream_key) {
            let result = self.orders[number - 1].result.clone();
            return Response::Done {
                number: number as u64,
                result,
            };
        }
        if crate::recording::is_failure(&order.result) {
            return Response::Refused(order.result);
        }
        if let Err(error) = self.write(&order) {
            return Response::Broken(error.to_string());
        }
        let result = order.result.clone();
        self.enter(order);
        Response::Done {
            number: self.orders.len() as u64,
            result,
        }
    }

    fn write(&mut self, order: &Order) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }

    fn enter(&mut self, order: Order) {
        self.known
            .entry(order.downstream_key.clone())
            .or_insert(self.orders.len() + 1);
        self.orders.push(order);
    }

    fn report(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for order in &self.orders {
            *counts.entry(order.key.clone()).or_default() += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(downstream_key: &str, result: &str) -> Order {
        Order {
            downstream_key: downstream_key.to_owned(),
            key: format!("key of {downstream_key}"),
            action: "cancel_reservation".to_owned(),
            arguments: "{}".to_owned(),
            result: result.to_owned(),
        }
    }

    #[test]
    fn a_repeat_gets_the_first_answer_also_after_a_restart_and_a_torn_line_is_forgotten() {
        let path = std::env::temp_dir().join(format!("idem_test_books_{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut books = Books::open(&path).expect("a file");
        assert!(matches!(
            books.carry_out(order("a", "first")),
            Response::Done { number: 1, .. }
        ));
        assert!(matches!(books.carry_out(order("b", "Error: no")), Response::Refused(_)));
        assert!(Books::open(&path).is_err(), "it is in use");
        drop(books);
        let mut torn = OpenOptions::new().append(true).open(&path).expect("the file");
        torn.write_all(b"{\"downstream_key\":\"b").expect("written");
        let mut books = Books::open(&path).expect("a file");
        for text in ["again", "Error: no"] {
            let Response::Done { number: 1, result } = books.carry_out(order("a", text)) else {
                panic!("the key is known")
            };
            assert_eq!(result, "first");
        }
        assert!(matches!(
            books.carry_out(order("b", "second")),
            Response::Done { number: 2, .. }
        ));
        assert_eq!(books.report().into_values().collect::<Vec<_>>(), [1, 1]);
        let _ = std::fs::remove_file(&path);
    }
}
