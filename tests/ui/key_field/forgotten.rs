use idem::KeyField;

#[derive(KeyField)]
struct Line {
    #[key]
    sku: String,
    quantity: u32,
    #[transient]
    label: String,
    #[key]
    #[transient]
    note: String,
}

fn main() {}
