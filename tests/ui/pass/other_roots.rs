//! Generated code refers to where `idem` is.

mod vendored {
    pub mod exactly_once {
        pub use idem::*;
        pub use idem::__private;
    }
}

#[vendored::exactly_once::idempotent(action = "a", key = [id, line], tenant = none, crate = crate::vendored::exactly_once)]
struct ByReexport {
    id: u8,
    line: Line,
}

#[derive(vendored::exactly_once::KeyField)]
#[key(crate = crate::vendored::exactly_once)]
struct Line {
    sku: u8,
}

#[idem_macros::idempotent(action = "a", key = [id, line], tenant = none, crate = ::idem_core)]
struct ByCore {
    id: u8,
    line: CoreLine,
}

#[derive(idem_macros::KeyField)]
#[key(crate = ::idem_core)]
struct CoreLine {
    sku: u8,
}

#[idem::idempotent(tenant = none)]
enum ByPath {
    #[idem::idempotent(action = "a", key = [id])]
    A { id: u8 },
}

fn main() -> Result<(), idem::KeyError> {
    let one = idem::derive(&ByReexport { id: 1, line: Line { sku: 2 } }, None)?;
    let two = idem_core::derive(&ByCore { id: 1, line: CoreLine { sku: 2 } }, None)?;
    assert_eq!(one.key, two.key);
    idem::derive(&ByPath::A { id: 1 }, None)?;
    Ok(())
}
