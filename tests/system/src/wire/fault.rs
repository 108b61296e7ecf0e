use super::request::RoundTrip;

/// A place on the wire.
#[derive(Clone, Debug)]
pub struct At {
    which: Which,
    pub(crate) side: Side,
}

#[derive(Clone, Debug)]
enum Which {
    Executing(String),
    Nth(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The client has sent it, PostgreSQL has not got it.
    Before,
    /// PostgreSQL has answered, the client has not got the answer.
    After,
}

impl At {
    /// The next round trip that executes a statement containing `text` (whole words, in any case of letters): sent by the
    /// client, and never to reach PostgreSQL.
    pub fn before(text: impl Into<String>) -> Self {
        Self {
            which: Which::Executing(text.into()),
            side: Side::Before,
        }
    }

    /// The next round trip that executes a statement containing `text`: done and answered by PostgreSQL, and the client
    /// never to know.
    pub fn after(text: impl Into<String>) -> Self {
        Self {
            which: Which::Executing(text.into()),
            side: Side::After,
        }
    }

    /// The `n`th round trip from now on, counted from 1, before it reaches PostgreSQL.
    pub fn before_round_trip(n: usize) -> Self {
        Self {
            which: Which::Nth(n),
            side: Side::Before,
        }
    }

    /// The `n`th round trip from now on, counted from 1, when PostgreSQL has answered and the client does not know.
    pub fn after_round_trip(n: usize) -> Self {
        Self {
            which: Which::Nth(n),
            side: Side::After,
        }
    }
}

/// What happens at a place, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Cut,
    Hold,
}

#[derive(Debug)]
pub(crate) struct Fault {
    at: At,
    action: Action,
    seen: usize,
}

impl Fault {
    pub(crate) fn new(at: At, action: Action) -> Self {
        Self { at, action, seen: 0 }
    }

    /// Whether this is the round trip it waits for.
    pub(crate) fn meets(&mut self, trip: &RoundTrip) -> Option<(Side, Action)> {
        self.seen += 1;
        let met = match &self.at.which {
            Which::Nth(n) => self.seen == *n,
            Which::Executing(text) => trip.executed.iter().any(|statement| contains(statement, text)),
        };
        met.then_some((self.at.side, self.action))
    }
}

/// Whether a statement has the text, and not as a part of longer words: `detail_commitment` is no `COMMIT`.
fn contains(statement: &str, text: &str) -> bool {
    let (statement, text) = (statement.to_ascii_lowercase(), text.to_ascii_lowercase());
    let in_word = |character: char| character.is_alphanumeric() || character == '_';
    statement.match_indices(&text).any(|(start, _)| {
        let (before, after) = (&statement[..start], &statement[start + text.len()..]);
        !before.ends_with(in_word) && !after.starts_with(in_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_met_by_its_words_and_not_by_parts_of_them() {
        assert!(contains("COMMIT", "commit"));
        assert!(contains("BEGIN; SET LOCAL lock_timeout = 1", "begin"));
        assert!(contains("insert into t (x) values (1)", "INSERT INTO T"));
        assert!(!contains("INSERT INTO l (detail_commitment) VALUES (1)", "COMMIT"));
        assert!(contains("/* commits */ COMMIT", "COMMIT"));
    }
}
