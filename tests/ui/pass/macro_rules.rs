//! Types that a macro of the user writes.

use idem::{KeyField, derive, idempotent};

macro_rules! command {
    ($name:ident, $action:literal, $field:ident: $ty:ty) => {
        #[idempotent(action = $action, key = [$field, own], tenant = none)]
        struct $name {
            $field: $ty,
            own: u8,
            cents: i64,
        }
    };
}

command!(IssueRefund, "refund.issue", case_id: Option<Vec<CaseId>>);

macro_rules! key_field {
    ($name:ident($ty:ty)) => {
        #[derive(KeyField)]
        struct $name($ty);
    };
}

key_field!(CaseId(u32));

fn main() -> Result<(), idem::KeyError> {
    let refund = IssueRefund { case_id: Some(vec![CaseId(7)]), own: 1, cents: 2 };
    assert_eq!(
        String::from_utf8_lossy(&derive(&refund, None)?.preimage),
        r#"{"action":"refund.issue","case_id":[7],"own":1}"#
    );
    Ok(())
}
