//! Fields may have any name, whatever the generated code calls its own.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};
use serde::Serialize;

#[idempotent(
    action = "refund.issue",
    key = [key, hash, tx, self_, w, result, r#type, value, members, __idem_w],
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
    w: u8,
    result: u8,
    r#type: u8,
    value: u8,
    members: u8,
    __idem_w: u8,
    none: String,
    lock: u8,
    r#match: u8,
}

#[idempotent(tenant = none)]
pub enum Command {
    #[idempotent(action = "a", key = [r#type, w, __idem_w], subject = r#type)]
    Run { r#type: u8, w: u8, __idem_w: u8, self_: u8 },
    #[idempotent(action = "b", key = [type])]
    r#Raw { r#type: u8 },
}

#[derive(KeyField)]
pub struct r#Line {
    r#fn: u8,
    w: u8,
    __idem_w: u8,
}

#[derive(KeyField)]
pub enum Method {
    Ok { w: u8, __idem_w: u8 },
    Some(u8),
    None,
}

fn text(preimage: &[u8]) -> String {
    String::from_utf8_lossy(preimage).into_owned()
}

fn main() -> Result<(), idem::KeyError> {
    let refund = IssueRefund {
        key: 1, hash: 2, tx: 3, self_: 4, w: 5, result: 6, r#type: 7, value: 8, members: 9,
        __idem_w: 10, none: "acme".into(), lock: 0, r#match: 0,
    };
    let derived = derive(&refund, None)?;
    assert_eq!(
        text(&derived.preimage),
        r#"{"__idem_w":10,"action":"refund.issue","hash":2,"key":1,"members":9,"result":6,"self_":4,"tx":3,"type":7,"value":8,"w":5}"#
    );
    assert_eq!(derived.subject.as_deref(), Some("7"));
    let run = derive(&Command::Run { r#type: 1, w: 2, __idem_w: 3, self_: 4 }, None)?;
    assert_eq!(text(&run.preimage), r#"{"__idem_w":3,"action":"a","type":1,"w":2}"#);
    let raw = derive(&Command::Raw { r#type: 1 }, None)?;
    assert_eq!(text(&raw.preimage), r#"{"action":"b","type":1}"#);

    #[idempotent(action = "c", key = [line, method], tenant = none)]
    struct Local {
        line: Line,
        method: Vec<Method>,
    }

    let local = Local {
        line: Line { r#fn: 1, w: 2, __idem_w: 3 },
        method: vec![Method::Ok { w: 1, __idem_w: 2 }, Method::Some(1), Method::None],
    };
    assert_eq!(
        text(&derive(&local, None)?.preimage),
        r#"{"action":"c","line":{"__idem_w":3,"fn":1,"w":2},"method":[{"Ok":{"__idem_w":2,"w":1}},{"Some":1},"None"]}"#
    );
    Ok(())
}
