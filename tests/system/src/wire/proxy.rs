use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use super::fault::{Action, At, Fault, Side};
use super::link;
use super::request::RoundTrip;
use super::stream::{Server, Stream};
use crate::address;

/// A proxy on a port of this machine in front of PostgreSQL. It ends, and its connections with it, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in front of the server of a connection URL, which may be on a Unix socket.
    ///
    /// # Panics
    ///
    /// When the URL is none or no port can be listened on.
    pub fn start(url: &str) -> Self {
        let options: PgConnectOptions = url.parse().expect("a connection URL of PostgreSQL");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on 127.0.0.1");
        let port = listener.local_addr().expect("the address of a listening socket").port();
        let shared = Arc::new(Shared {
            server: Server::of(&options),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let acceptor = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&listener, &shared))
        };
        Self {
            url: address::with_local_port(url, port),
            port,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// The URL of the same database through this wire.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A pool through this wire that sends nothing of its own.
    pub async fn pool(&self, connections: u32) -> PgPool {
        crate::postgres::pool(&self.url, connections).await
    }

    /// How many round trips clients made since the start or the last [`reset`](Self::reset).
    pub fn round_trips(&self) -> usize {
        self.shared.state().trips.len()
    }

    /// Those round trips, in the order in which they were sent, of all connections.
    pub fn log(&self) -> Vec<RoundTrip> {
        self.shared.state().trips.clone()
    }

    /// The statements executed in those round trips.
    pub fn statements(&self) -> Vec<String> {
        self.log().into_iter().flat_map(|trip| trip.executed).collect()
    }

    /// Forgets the round trips so far.
    pub fn reset(&self) {
        self.shared.state().trips.clear();
    }

    /// How many connections clients have opened since the start.
    pub fn connections(&self) -> usize {
        self.shared.state().opened
    }

    /// Cuts the connection that reaches the place first, once. PostgreSQL and the client both lose the other.
    /// Takes the place of an earlier fault that has not been reached.
    pub fn cut(&self, at: At) {
        self.arm(at, Action::Cut);
    }

    /// Holds the connection that reaches the place first, once, until [`release`](Self::release).
    /// Takes the place of an earlier fault that has not been reached.
    pub fn hold(&self, at: At) {
        self.arm(at, Action::Hold);
    }

    /// Lets a held connection go on.
    pub fn release(&self) {
        self.shared.state().holding = false;
        self.shared.changed.notify_all();
    }

    /// Waits until the fault that was armed last has struck. It blocks the thread: in an async test with a runtime of one
    /// thread, call it through `spawn_blocking`.
    ///
    /// # Panics
    ///
    /// When nothing reached the place within 30 seconds.
    #[track_caller]
    pub fn wait_struck(&self) {
        let state = self.shared.state();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, PATIENCE, |state| !state.struck);
        let (_state, timeout) = waited.expect("no thread of the wire panics");
        assert!(
            !timeout.timed_out(),
            "nothing reached the place of the fault within {PATIENCE:?}"
        );
    }

    /// Whether the fault that was armed last has struck.
    pub fn has_struck(&self) -> bool {
        self.shared.state().struck
    }

    /// Cuts every connection that is open now.
    pub fn sever(&self) {
        self.shared.state().sever();
    }

    /// Says whether new connections are refused from now on; open ones stay.
    pub fn refuse(&self, refuse: bool) {
        self.shared.state().refusing = refuse;
    }

    fn arm(&self, at: At, action: Action) {
        let mut state = self.shared.state();
        state.fault = Some(Fault::new(at, action));
        state.struck = false;
        state.holding = action == Action::Hold;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.stopping = true;
            state.sever();
        }
        self.release();
        // Wakes the acceptor, which looks at `stopping`.
        let _ = std::net::TcpStream::connect(("127.0.0.1", self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// What the proxy and its connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) server: Server,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    trips: Vec<RoundTrip>,
    opened: usize,
    open: HashMap<usize, [Stream; 2]>,
    fault: Option<Fault>,
    struck: bool,
    holding: bool,
    refusing: bool,
    stopping: bool,
}

impl State {
    fn sever(&self) {
        for stream in self.open.values().flatten() {
            stream.shutdown();
        }
    }
}

impl Shared {
    /// Counts a round trip and says what is to happen to it.
    pub(crate) fn count(&self, trip: RoundTrip) -> Option<(Side, Action)> {
        let mut state = self.state();
        let met = state.fault.as_mut().and_then(|fault| fault.meets(&trip));
        if met.is_some() {
            state.fault = None;
        }
        state.trips.push(trip);
        met
    }

    /// Tells the test that its fault struck, and waits while it is held.
    pub(crate) fn strike(&self, action: Action) {
        let mut state = self.state();
        state.struck = true;
        self.changed.notify_all();
        if action == Action::Hold {
            let _held = self.changed.wait_while(state, |state| state.holding);
        }
    }

    /// Enters a connection, or refuses it.
    pub(crate) fn enter(&self, streams: [Stream; 2]) -> Option<usize> {
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        state.opened += 1;
        let id = state.opened;
        state.open.insert(id, streams);
        Some(id)
    }

    pub(crate) fn leave(&self, id: usize) {
        self.state().open.remove(&id);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of the wire panics")
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let (stopping, refusing) = {
            let state = shared.state();
            (state.stopping, state.refusing)
        };
        if stopping {
            return;
        }
        let Some(client) = client.and_then(Stream::tcp).ok().filter(|_| !refusing) else {
            continue;
        };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || link::serve(client, &shared));
    }
}

const PATIENCE: Duration = Duration::from_secs(30);
