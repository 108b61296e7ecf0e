//! The definition of a key, as one number.

use std::fmt;

use super::Shape;
use super::shape::Hash;

/// A digest of what a key is made of: the action, the wire names of its members and the [`Shape`] of each.
///
/// As long as it stays the same, equal inputs keep their keys from one build to the next. `pin = ".."` on a type holds
/// it fast: the build fails when it changes.
///
/// # Examples
///
/// ```
/// use idem_core::{KeySchema, KeyTenant, Shape};
///
/// const SCHEMA: KeySchema = KeySchema::new(Some("refund.issue"), KeyTenant::None, [("case_id", Shape::text())]);
/// assert_eq!(SCHEMA.to_string().len(), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeySchema(u32);

impl KeySchema {
    /// Computes the schema of a key. `action` is the implied member, if it is one; members are given as written.
    ///
    /// The members come by value: a reference to them would be evaluated with the definition of a type rather than when
    /// it is asked for, and types that hold each other could not be defined at all.
    pub const fn new<const N: usize>(action: Option<&str>, tenant: KeyTenant<'_>, members: [(&str, Shape); N]) -> Self {
        let hash = Hash::of("key");
        let hash = match action {
            Some(action) => hash.text("action").text(action),
            None => hash,
        };
        let hash = match tenant {
            KeyTenant::Field(name) => hash.text("field").text(name),
            KeyTenant::None => hash.text("none"),
            KeyTenant::Call => hash.text("call"),
        };
        Self::fold(hash.members(&members))
    }

    /// Computes the schema of an enum whose variants have keys of their own, each under the variant's name in Rust.
    ///
    /// Names and order of variants are in no key, so they do not count: the schemas are put in order.
    pub const fn any_of<const N: usize>(mut variants: [Self; N]) -> Self {
        let mut end = N;
        while end > 1 {
            let mut index = 1;
            while index < end {
                if variants[index - 1].0 > variants[index].0 {
                    (variants[index - 1], variants[index]) = (variants[index], variants[index - 1]);
                }
                index += 1;
            }
            end -= 1;
        }
        let mut hash = Hash::of("any").number(N as u64);
        let mut index = 0;
        while index < N {
            hash = hash.number(variants[index].0 as u64);
            index += 1;
        }
        Self::fold(hash)
    }

    /// The schema of a type that does not state one.
    pub const fn unstated() -> Self {
        Self(0)
    }

    /// Returns the digest as a number.
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Returns the digest as it is written in a pin: 8 lower-case hex digits.
    pub const fn to_hex(self) -> [u8; 8] {
        let mut hex = [0; 8];
        let mut index = 0;
        while index < 8 {
            hex[index] = b"0123456789abcdef"[(self.0 >> (28 - 4 * index) & 15) as usize];
            index += 1;
        }
        hex
    }

    const fn fold(hash: Hash) -> Self {
        let digest = hash.finish();
        Self((digest ^ (digest >> 32)) as u32)
    }
}

impl fmt::Display for KeySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Debug for KeySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySchema({self})")
    }
}

/// Where the tenant of a key comes from; it is half of what a record is found by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KeyTenant<'a> {
    /// From the field with this wire name.
    Field(&'a str),
    /// From nowhere: the action has none.
    None,
    /// From the call, as an implied member of the key.
    Call,
}

/// Fails the build when a schema is not the one that was pinned.
///
/// # Panics
///
/// When they differ; in const evaluation that is an error of the compiler, which shows the message.
#[track_caller]
pub const fn check_pin(schema: KeySchema, pin: &str) {
    let (is, was) = (schema.to_hex(), pin.as_bytes());
    let mut same = was.len() == is.len();
    let mut index = 0;
    while same && index < is.len() {
        same = is[index] == was[index];
        index += 1;
    }
    if same {
        return;
    }
    let mut message = Message {
        bytes: [0; Message::MOST],
        length: 0,
    };
    message.push(b"the definition of this key changed: it is pinned as `");
    message.push(was);
    message.push(b"` and is now `");
    message.push(&is);
    message.push(
        b"`\nnote: equal inputs may have other keys than before, so that a retry across the deploy would run again\n\
          help: undo the change to the action, the tenant or the key fields; if it is meant, write `pin = \"",
    );
    message.push(&is);
    message.push(b"\"`");
    panic!("{}", message.text())
}

struct Message {
    bytes: [u8; Self::MOST],
    length: usize,
}

impl Message {
    /// Enough for the message above with a pin of any sensible length; a longer one is cut.
    const MOST: usize = 512;

    const fn push(&mut self, text: &[u8]) {
        let mut index = 0;
        while index < text.len() && self.length < Self::MOST {
            self.bytes[self.length] = text[index];
            self.length += 1;
            index += 1;
        }
    }

    const fn text(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            // Only a pin that was cut inside a character comes here.
            Err(_) => "the definition of this key changed, and its pin is no digest of 8 hex digits",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: [(&str, Shape); 1] = [("case_id", Shape::text())];

    #[test]
    fn everything_that_is_in_a_key_is_in_its_schema() {
        let schema = KeySchema::new(Some("refund"), KeyTenant::None, CASE);
        let others = [
            KeySchema::new(Some("refunds"), KeyTenant::None, CASE),
            KeySchema::new(None, KeyTenant::None, CASE),
            KeySchema::new(Some("refund"), KeyTenant::Call, CASE),
            KeySchema::new(Some("refund"), KeyTenant::Field("org"), CASE),
            KeySchema::new(Some("refund"), KeyTenant::Field("tenant"), CASE),
            KeySchema::new(Some("refund"), KeyTenant::None, [("case", Shape::text())]),
            KeySchema::new(Some("refund"), KeyTenant::None, [("case_id", Shape::scalar("integer"))]),
            KeySchema::new(
                Some("refund"),
                KeyTenant::None,
                [CASE[0], ("no", Shape::scalar("integer"))],
            ),
        ];
        assert!(others.iter().all(|other| *other != schema));
        assert_eq!(
            KeySchema::any_of([schema, others[0]]),
            KeySchema::any_of([others[0], schema])
        );
        assert_ne!(KeySchema::any_of([schema]), KeySchema::any_of([others[0]]));
    }

    #[test]
    fn a_schema_is_written_in_eight_digits() {
        let schema = KeySchema(0x00ab_cdef);
        assert_eq!(schema.to_string(), "00abcdef");
        assert_eq!(schema.to_hex(), *b"00abcdef");
    }

    #[test]
    fn a_pin_that_holds_says_nothing() {
        check_pin(KeySchema(0x00ab_cdef), "00abcdef");
    }

    #[test]
    #[should_panic(expected = "pinned as `00abcdee` and is now `00abcdef`")]
    fn a_pin_that_does_not_hold_shows_both_digests() {
        check_pin(KeySchema(0x00ab_cdef), "00abcdee");
    }

    #[test]
    #[should_panic(expected = "no digest of 8 hex digits")]
    fn a_pin_of_any_length_is_told() {
        check_pin(KeySchema(0), &"é".repeat(1000));
    }
}
