//! An adapter brings types of other crates under a marker of its own.

use idem::canonical::CanonicalWriter;
use idem::{CanonicalError, ElementMarker, KeyField, Shape, derive, idempotent};
use std::net::Ipv4Addr;

struct ByAdapter;

impl ElementMarker for ByAdapter {}

impl KeyField<ByAdapter> for Ipv4Addr {
    const SHAPE: Shape = Shape::text();

    fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
        out.string(&self.to_string())
    }
}

#[derive(KeyField)]
struct Hosts {
    first: Ipv4Addr,
    others: Vec<Ipv4Addr>,
    none: Option<Ipv4Addr>,
}

#[idempotent(action = "a", key = [host, hosts], tenant = none, subject = host, once_per = [host])]
struct Order {
    host: Ipv4Addr,
    hosts: Hosts,
}

fn main() -> Result<(), idem::KeyError> {
    let host = Ipv4Addr::LOCALHOST;
    let order = Order { host, hosts: Hosts { first: host, others: vec![host], none: None } };
    let derived = derive(&order, None)?;
    assert_eq!(
        String::from_utf8_lossy(&derived.preimage),
        r#"{"action":"a","host":"127.0.0.1","hosts":{"first":"127.0.0.1","others":["127.0.0.1"]}}"#
    );
    assert_eq!(derived.subject.as_deref(), Some("127.0.0.1"));
    Ok(())
}
