//! Fields, attributes and variants that `cfg` removes are not there.

use idem::{derive, idempotent};
use serde::Serialize;

#[idempotent(action = "refund.issue", key = [case_id], tenant = none)]
#[derive(Serialize)]
struct IssueRefund {
    case_id: String,
    #[cfg(any())]
    gone: NoSuchType,
    #[cfg_attr(all(), transient)]
    note: NotSerialize,
    #[cfg_attr(any(), transient)]
    cents: i64,
}

struct NotSerialize;

impl Serialize for NotSerialize {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        unreachable!()
    }
}

#[cfg_attr(all(), idempotent(action = "case.close", key = [case_id], tenant = none))]
struct CloseCase {
    case_id: String,
}

#[idempotent(tenant = none)]
enum Command {
    #[cfg(any())]
    #[idempotent(action = "no", key = [no])]
    Gone { no: NoSuchType },
    #[cfg_attr(all(), idempotent(action = "case.open", key = [case_id]))]
    #[cfg_attr(any(), idempotent(action = "no", key = [no]))]
    Open {
        case_id: String,
        #[cfg(any())]
        gone: NoSuchType,
    },
}

fn main() -> Result<(), idem::KeyError> {
    let one = derive(&IssueRefund { case_id: "C-7".into(), note: NotSerialize, cents: 1 }, None)?;
    let two = derive(&IssueRefund { case_id: "C-7".into(), note: NotSerialize, cents: 2 }, None)?;
    assert_eq!(one.key, two.key);
    assert_ne!(one.fingerprint, two.fingerprint);
    derive(&CloseCase { case_id: "C-7".into() }, None)?;
    derive(&Command::Open { case_id: "C-7".into() }, None)?;
    Ok(())
}
