//! What is refused in a key does not get in by another spelling.

use idem::{Generated, KeyField, idempotent};
use std::collections::HashSet;

#[idempotent(action = "fee.pay", key = [amount, rate], tenant = none)]
struct PayFee {
    #[key(display)]
    amount: f64,
    #[key(display)]
    rate: Option<f32>,
}

#[idempotent(action = "mail.send", key = [body, notes], tenant = none)]
struct SendMail {
    #[key(display)]
    body: Generated<String>,
    #[key(set)]
    notes: HashSet<Generated<String>>,
}

#[derive(KeyField)]
struct Line(#[key(display)] Generated<String>);

fn main() {}
