//! The subject and the place may be any field that a retry repeats.

use idem::{KeyField, derive, idempotent};

#[derive(KeyField, Clone)]
struct Case {
    queue: String,
    number: u32,
}

#[idempotent(
    action = "filing.send",
    key = [filing_no],
    tenant = none,
    subject = case,
    once_per = [case, kind],
)]
#[derive(Clone)]
struct SendFiling {
    filing_no: u32,
    #[transient]
    note: String,
    case: Case,
    kind: Option<String>,
}

impl serde::Serialize for Case {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.number)
    }
}

fn main() -> Result<(), idem::KeyError> {
    let filing = SendFiling {
        filing_no: 1,
        note: String::new(),
        case: Case { queue: "q".into(), number: 7 },
        kind: Some("k".into()),
    };
    let one = derive(&filing, None)?;
    assert_eq!(one.subject.as_deref(), Some(r#"{"number":7,"queue":"q"}"#));
    let two = derive(&SendFiling { filing_no: 2, ..filing.clone() }, None)?;
    assert_ne!(one.key, two.key);
    assert_eq!(one.place, two.place);
    let elsewhere = derive(&SendFiling { kind: Some("l".into()), ..filing.clone() }, None)?;
    assert_ne!(one.place, elsewhere.place);
    // Without all its fields it is no place.
    assert!(derive(&SendFiling { kind: None, ..filing }, None).is_err());
    Ok(())
}
