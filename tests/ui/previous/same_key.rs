use idem::idempotent;

#[idempotent(action = "refund.issue", key = [case_id, number], tenant = none)]
struct CountedFromOne {
    case_id: String,
    number: u32,
}

#[idempotent(action = "refund.issue", key = [case_id, number], tenant = none, previous = CountedFromOne, until = "2027-03-01")]
struct CountedFromZero {
    case_id: String,
    number: u32,
}

impl From<&CountedFromZero> for CountedFromOne {
    fn from(refund: &CountedFromZero) -> Self {
        CountedFromOne {
            case_id: refund.case_id.clone(),
            number: refund.number + 1,
        }
    }
}

fn main() {
    let refund = CountedFromZero {
        case_id: String::new(),
        number: 0,
    };
    let _ = idem::Idempotent::previous(&refund, None);
}
