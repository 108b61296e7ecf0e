//! What a client asks for, from the messages it sends.

use std::collections::HashMap;

use super::message::Message;

/// One round trip of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// The statements it had PostgreSQL parse, in order.
    pub parsed: Vec<String>,
    /// The statements it had PostgreSQL execute, in order: sent as a query, or prepared in this round trip or an earlier one.
    pub executed: Vec<String>,
}

/// Gathers messages into round trips, and knows the statements that were prepared before.
#[derive(Default)]
pub(crate) struct Requests {
    statements: HashMap<String, String>,
    portals: HashMap<String, String>,
    trip: RoundTrip,
}

/// What a message means for the wire.
pub(crate) enum Step {
    /// More of the same round trip follows.
    Gather,
    /// To be sent on at once; no part of a counted round trip.
    Pass,
    /// The client now waits for an answer.
    Complete(RoundTrip),
}

impl Requests {
    pub(crate) fn take(&mut self, message: &Message) -> Step {
        match message.kind {
            PARSE => {
                let [name, text] = message.texts();
                self.trip.parsed.push(text.clone());
                self.statements.insert(name, text);
                Step::Gather
            }
            BIND => {
                let [portal, statement] = message.texts();
                let text = self.statements.get(&statement).cloned().unwrap_or_default();
                self.portals.insert(portal, text);
                Step::Gather
            }
            EXECUTE => {
                let [portal] = message.texts();
                self.trip
                    .executed
                    .push(self.portals.get(&portal).cloned().unwrap_or_default());
                Step::Gather
            }
            CLOSE => {
                let (what, name) = message.target();
                if what == b'S' {
                    self.statements.remove(&name)
                } else {
                    self.portals.remove(&name)
                };
                Step::Gather
            }
            DESCRIBE => Step::Gather,
            SYNC => Step::Complete(std::mem::take(&mut self.trip)),
            QUERY => {
                let [text] = message.texts();
                self.trip.executed.push(text);
                Step::Complete(std::mem::take(&mut self.trip))
            }
            // Passwords, COPY data, Flush, Terminate.
            _ => Step::Pass,
        }
    }
}

const PARSE: u8 = b'P';
const BIND: u8 = b'B';
const DESCRIBE: u8 = b'D';
const EXECUTE: u8 = b'E';
const CLOSE: u8 = b'C';
const SYNC: u8 = b'S';
const QUERY: u8 = b'Q';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_is_named_by_the_text_that_was_parsed_before() {
        let mut requests = Requests::default();
        let parse = trip(
            &mut requests,
            &[(PARSE, b"s1\0SELECT 1\0\0\0"), (DESCRIBE, b"Ss1\0"), (SYNC, b"")],
        );
        assert_eq!(
            parse,
            RoundTrip {
                parsed: vec!["SELECT 1".to_owned()],
                executed: vec![]
            }
        );
        let execute = trip(
            &mut requests,
            &[(BIND, b"\0s1\0\0\0"), (EXECUTE, b"\0\0\0\0\0"), (SYNC, b"")],
        );
        assert_eq!(
            execute,
            RoundTrip {
                parsed: vec![],
                executed: vec!["SELECT 1".to_owned()]
            }
        );
        let query = trip(&mut requests, &[(QUERY, b"COMMIT\0")]);
        assert_eq!(
            query,
            RoundTrip {
                parsed: vec![],
                executed: vec!["COMMIT".to_owned()]
            }
        );
    }

    fn trip(requests: &mut Requests, messages: &[(u8, &[u8])]) -> RoundTrip {
        for (kind, body) in messages {
            let mut bytes = vec![*kind, 0, 0, 0, 0];
            bytes.extend_from_slice(body);
            if let Step::Complete(trip) = requests.take(&Message { kind: *kind, bytes }) {
                return trip;
            }
        }
        panic!("the messages do not end a round trip")
    }
}
