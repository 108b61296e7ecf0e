//! The same options in types that derive `KeyField`, in each of their forms.

use idem::{KeyField, derive, idempotent};
use std::collections::HashSet;
use std::net::Ipv4Addr;

#[derive(KeyField)]
struct Named {
    #[key(text)]
    serial: u128,
    #[key(set)]
    tags: HashSet<u32>,
    #[key(display)]
    host: Ipv4Addr,
    #[key]
    plain: String,
    #[transient]
    note: String,
}

#[derive(KeyField)]
struct Tuple(#[key(text)] i128, #[key(display)] Ipv4Addr, #[key] u32);

#[derive(KeyField)]
struct Newtype(#[key(text)] Option<u128>);

#[derive(KeyField)]
enum Method {
    Card(#[key(text)] u128),
    Wire {
        #[key(display)]
        host: Ipv4Addr,
    },
    Split(#[key(set)] Vec<String>, #[key(text)] u64),
}

#[idempotent(action = "a", key = [named, tuple, newtype, absent, methods], tenant = none)]
struct Order {
    named: Named,
    tuple: Tuple,
    newtype: Newtype,
    absent: Newtype,
    methods: Vec<Method>,
}

fn main() -> Result<(), idem::KeyError> {
    let host = Ipv4Addr::LOCALHOST;
    let order = Order {
        named: Named { serial: 1, tags: [3, 20].into(), host, plain: "p".into(), note: "n".into() },
        tuple: Tuple(-1, host, 2),
        newtype: Newtype(Some(5)),
        absent: Newtype(None),
        methods: vec![Method::Card(9), Method::Wire { host }, Method::Split(vec!["b".into(), "a".into()], 7)],
    };
    assert_eq!(
        String::from_utf8_lossy(&derive(&order, None)?.preimage),
        r#"{"action":"a","methods":[{"Card":"9"},{"Wire":{"host":"127.0.0.1"}},{"Split":[["a","b"],"7"]}],"named":{"host":"127.0.0.1","plain":"p","serial":"1","tags":[20,3]},"newtype":"5","tuple":["-1","127.0.0.1",2]}"#
    );
    Ok(())
}
