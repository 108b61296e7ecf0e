use idem::{Idempotent, IdempotencyKey, Timestamp, derive, idempotent};

mod old {
    #[idem::idempotent(action = "refund.issue", key = [case_id], tenant = none)]
    pub struct Refund<'a> {
        pub case_id: &'a str,
    }

    #[idem::idempotent(tenant = none)]
    pub enum Command {
        #[idempotent(action = "case.open", key = [case_id])]
        Open { case_id: String },
        #[idempotent(action = "case.close", key = [case_id])]
        Close { case_id: String },
    }
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = old::Refund<'_>, until = "2027-03-01")]
struct Refund {
    case_id: String,
    part: u8,
}

impl<'a> From<&'a Refund> for old::Refund<'a> {
    fn from(refund: &'a Refund) -> Self {
        Self {
            case_id: &refund.case_id,
        }
    }
}

#[idempotent(tenant = none, previous = old::Command, until = "2027-03-01")]
enum Command {
    #[idempotent(action = "case.open", key = [case_id, desk])]
    Open { case_id: String, desk: u8 },
    #[idempotent(action = "case.close", key = [case_id])]
    Close { case_id: String },
}

impl From<&Command> for old::Command {
    fn from(command: &Command) -> Self {
        match command {
            Command::Open { case_id, .. } => Self::Open {
                case_id: case_id.clone(),
            },
            Command::Close { case_id } => Self::Close {
                case_id: case_id.clone(),
            },
        }
    }
}

#[idempotent(action = "note.add", key = [case_id, by], tenant = none, previous = old::Refund<'static>, until = "2027-03-01")]
struct Note<T> {
    case_id: String,
    by: T,
}

impl<T> From<&Note<T>> for old::Refund<'static> {
    fn from(_: &Note<T>) -> Self {
        Self { case_id: "C-7" }
    }
}

fn main() {
    let refund = Refund {
        case_id: "C-7".into(),
        part: 1,
    };
    let former = IdempotencyKey::derive(&old::Refund { case_id: "C-7" }).unwrap();
    let previous = refund.previous(None).unwrap().unwrap();
    assert_eq!(previous.key, former);
    assert_ne!(derive(&refund, None).unwrap().key, former);
    assert_eq!(
        Refund::PREVIOUS_UNTIL,
        Some(Timestamp::from_millis(1_772_323_200_000 + 365 * 86_400_000))
    );
    assert_eq!(old::Refund::PREVIOUS_UNTIL, None);

    let close = Command::Close { case_id: "C-7".into() };
    assert_eq!(close.previous(None).unwrap().unwrap().key, derive(&close, None).unwrap().key);
    let open = Command::Open {
        case_id: "C-7".into(),
        desk: 2,
    };
    assert_ne!(open.previous(None).unwrap().unwrap().key, derive(&open, None).unwrap().key);
    let note = Note { case_id: String::new(), by: 7_u16 };
    assert_eq!(note.previous(None).unwrap().unwrap().key, former);
}
