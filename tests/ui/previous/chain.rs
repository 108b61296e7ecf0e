use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
struct First {
    case_id: String,
}

#[idempotent(action = "refund.issue", key = [case_id, part], tenant = none, previous = First, until = "2027-03-01")]
struct Second {
    case_id: String,
    part: u8,
}

#[idempotent(action = "refund.issue", key = [case_id, part, kind], tenant = none, previous = Second, until = "2027-06-01")]
struct Third {
    case_id: String,
    part: u8,
    kind: String,
}

impl From<&Second> for First {
    fn from(second: &Second) -> Self {
        First {
            case_id: second.case_id.clone(),
        }
    }
}

impl From<&Third> for Second {
    fn from(third: &Third) -> Self {
        Second {
            case_id: third.case_id.clone(),
            part: third.part,
        }
    }
}

fn main() {
    let third = Third {
        case_id: String::new(),
        part: 1,
        kind: String::new(),
    };
    let _ = idem::Idempotent::previous(&third, None);
}
