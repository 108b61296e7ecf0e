use idem::{KeyField, derive, idempotent};

#[derive(KeyField)]
struct Line<T> {
    sku: T,
}

#[idempotent(action = "order.place", key = [line], tenant = none)]
struct PlaceOrder {
    line: Line<u8>,
}

fn main() {
    let _ = derive(&PlaceOrder { line: Line { sku: 1 } }, None);
}
