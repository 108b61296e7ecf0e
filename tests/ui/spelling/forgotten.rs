use idem::KeyField;

#[derive(KeyField)]
struct Line {
    #[key(text)]
    serial: u128,
    quantity: u32,
}

fn main() {}
