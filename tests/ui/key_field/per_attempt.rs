use idem::KeyField;

#[derive(KeyField)]
struct Line {
    sku: String,
    created_at: String,
    #[basis]
    model: String,
}

fn main() {}
