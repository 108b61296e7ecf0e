//! Types inside functions, blocks and modules, with fields and types of any visibility.

#![deny(warnings)]

use idem::{KeyField, derive, idempotent};

mod outer {
    pub(crate) mod inner {
        #[derive(idem::KeyField)]
        pub(in crate::outer) struct Part(pub(super) u32);
    }

    #[idempotent(action = "a", key = [part], tenant = none)]
    pub(crate) struct Order {
        pub(self) part: inner::Part,
        pub(crate) cents: i64,
    }

    impl Order {
        pub(crate) fn new() -> Self {
            Self { part: inner::Part(1), cents: 2 }
        }
    }

    use idem::idempotent;
}

trait Act {
    fn key(&self) -> Result<String, idem::KeyError>;
}

struct Shop;

impl Act for Shop {
    fn key(&self) -> Result<String, idem::KeyError> {
        #[derive(KeyField)]
        enum Size {
            Small,
            Large,
        }

        #[idempotent(action = "b", key = [sizes], tenant = none)]
        struct Order {
            sizes: [Size; 2],
        }

        let text = |preimage: Vec<u8>| String::from_utf8_lossy(&preimage).into_owned();
        Ok(text(derive(&Order { sizes: [Size::Small, Size::Large] }, None)?.preimage))
    }
}

fn main() -> Result<(), idem::KeyError> {
    let order = outer::Order::new();
    assert_eq!(order.cents, 2);
    assert_eq!(String::from_utf8_lossy(&derive(&order, None)?.preimage), r#"{"action":"a","part":1}"#);
    assert_eq!(Shop.key()?, r#"{"action":"b","sizes":["Small","Large"]}"#);
    let key = {
        #[idempotent(action = "c", key = [id], tenant = none)]
        struct Order {
            id: u8,
        }
        derive(&Order { id: 1 }, None)?
    };
    assert_eq!(String::from_utf8_lossy(&key.preimage), r#"{"action":"c","id":1}"#);
    Ok(())
}
