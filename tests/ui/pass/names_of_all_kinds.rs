//! Fields may have any name, whatever the generated code calls its own.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

#[idempotent(
    action = "refund.issue",
    key = [key, hash, tx, self_, out, result, r#type, value, members, __idem_out],
    tenant = r#none,
    subject = r#type,
    once_per = [r#type],
)]
#[derive(Serialize)]
pub struct IssueRefund {
    key: u8,
    hash: u8,
    tx: u8,
    self_: u8,
    out: u8,
    result: u8,
    r#type: u8,
    value: u8,
    members: u8,
    __idem_out: u8,
    none: String,
    lock: u8,
    r#match: u8,
}

#[idempotent(tenant = none)]
pub enum Command {
    #[idempotent(action = "a", key = [r#type, out, __idem_out], subject = r#type)]
    Run { r#type: u8, out: u8, __idem_out: u8, self_: u8 },
    #[idempotent(action = "b", key = [type])]
    r#Raw { r#type: u8 },
}

#[derive(KeyField)]
pub struct r#Line {
    r#fn: u8,
    out: u8,
    __idem_out: u8,
}

#[derive(KeyField)]
pub enum Method {
    Ok { out: u8, __idem_out: u8 },
    Some(u8),
    None,
}

fn text(preimage: &[u8]) -> String {
    String::from_utf8_lossy(preimage).into_owned()
}

fn main() -> Result<(), idem::KeyError> {
    let refund = IssueRefund {
        key: 1, hash: 2, tx: 3, self_: 4, out: 5, result: 6, r#type: 7, value: 8, members: 9,
        __idem_out: 10, none: "acme".into(), lock: 0, r#match: 0,
    };
    let derived = derive(&refund, None)?;
    assert_eq!(
        text(&derived.preimage),
        r#"{"__idem_out":10,"action":"refund.issue","hash":2,"key":1,"members":9,"out":5,"result":6,"self_":4,"tx":3,"type":7,"value":8}"#
    );
    assert_eq!(derived.subject.as_deref(), Some("7"));
    let run = derive(&Command::Run { r#type: 1, out: 2, __idem_out: 3, self_: 4 }, None)?;
    assert_eq!(text(&run.preimage), r#"{"__idem_out":3,"action":"a","out":2,"type":1}"#);
    let raw = derive(&Command::Raw { r#type: 1 }, None)?;
    assert_eq!(text(&raw.preimage), r#"{"action":"b","type":1}"#);

    #[idempotent(action = "c", key = [line, method], tenant = none)]
    struct Local {
        line: Line,
        method: Vec<Method>,
    }

    let local = Local {
        line: Line { r#fn: 1, out: 2, __idem_out: 3 },
        method: vec![Method::Ok { out: 1, __idem_out: 2 }, Method::Some(1), Method::None],
    };
    assert_eq!(
        text(&derive(&local, None)?.preimage),
        r#"{"action":"c","line":{"__idem_out":3,"fn":1,"out":2},"method":[{"Ok":{"__idem_out":2,"out":1}},{"Some":1},"None"]}"#
    );
    Ok(())
}
