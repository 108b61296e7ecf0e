use idem::idempotent;

#[idempotent(action = "token.mint", key = [serial, signed], tenant = none)]
struct MintToken {
    serial: u128,
    signed: Option<i128>,
}

fn main() {}
