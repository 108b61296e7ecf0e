//! An optional field that is added later changes no key that was issued.

use idem::{KeyField, derive, idempotent};

mod before {
    use super::*;

    #[idempotent(action = "a", key = [id, line], tenant = none)]
    pub struct A {
        pub id: u8,
        pub line: Line,
    }

    #[derive(KeyField)]
    pub struct Line {
        pub sku: u8,
    }
}

mod after {
    use super::*;

    #[idempotent(action = "a", key = [id, line, note], tenant = none)]
    pub struct A {
        pub id: u8,
        pub line: Line,
        pub note: Note,
        pub cents: Option<i64>,
    }

    #[derive(KeyField)]
    pub struct Line {
        pub sku: u8,
        pub colour: Option<String>,
    }

    #[derive(KeyField)]
    pub struct Note(pub Option<String>);
}

fn main() -> Result<(), idem::KeyError> {
    let before = derive(&before::A { id: 1, line: before::Line { sku: 2 } }, None)?;
    let after = |note| after::A { id: 1, line: after::Line { sku: 2, colour: None }, note, cents: None };
    let absent = derive(&after(after::Note(None)), None)?;
    assert_eq!(before.key, absent.key);
    assert_eq!(before.fingerprint, absent.fingerprint);
    let present = derive(&after(after::Note(Some(String::new()))), None)?;
    assert_ne!(before.key, present.key);
    Ok(())
}
