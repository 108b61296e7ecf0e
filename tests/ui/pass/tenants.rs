//! The four sources of the tenant.

use idem::{FromCall, FromType, Tenant, TenantKnown, derive, idempotent};
use std::borrow::Cow;
use std::sync::Arc;

#[idempotent(action = "a", key = [tenant, id])]
struct ByKeyField {
    tenant: Arc<str>,
    id: u8,
}

#[idempotent(action = "a", key = [id], tenant = org)]
struct ByField<'a> {
    org: Cow<'a, str>,
    id: u8,
}

#[idempotent(action = "a", key = [id], tenant = none)]
struct Nobody {
    id: u8,
}

#[idempotent(action = "a", key = [id])]
struct ByCall {
    id: u8,
}

fn from_type<T: TenantKnown<FromType>>(_: &T) {}
fn from_call<T: TenantKnown<FromCall>>(_: &T) {}

fn main() -> Result<(), idem::KeyError> {
    let acme = Tenant::parse("acme")?;
    let by_key_field = ByKeyField { tenant: "acme".into(), id: 1 };
    let by_field = ByField { org: "acme".into(), id: 1 };
    let by_call = ByCall { id: 1 };
    from_type(&by_key_field);
    from_type(&by_field);
    from_type(&Nobody { id: 1 });
    from_call(&by_call);

    let by_key_field = derive(&by_key_field, None)?;
    let by_call = derive(&by_call, Some(&acme))?;
    assert_eq!(String::from_utf8_lossy(&by_call.preimage), r#"{"action":"a","id":1,"tenant":"acme"}"#);
    assert_eq!(by_key_field.key, by_call.key);

    let by_field = derive(&by_field, None)?;
    assert_eq!(String::from_utf8_lossy(&by_field.preimage), r#"{"action":"a","id":1}"#);
    assert!(by_field.key.to_string().starts_with("dk_acme_"));

    let nobody = derive(&Nobody { id: 1 }, None)?;
    assert_eq!(nobody.preimage, by_field.preimage);
    assert!(nobody.key.to_string().starts_with("dk_-_"));
    Ok(())
}
