use idem::{derive, idempotent};

#[idempotent(action = "order.place", key = [sku], tenant = none)]
struct PlaceOrder<T> {
    sku: T,
}

fn main() {
    let _ = derive(&PlaceOrder { sku: 0.5 }, None);
}
