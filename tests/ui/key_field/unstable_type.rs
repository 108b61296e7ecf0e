use idem::KeyField;

#[derive(KeyField)]
struct Line {
    sku: String,
    price: f64,
}

#[derive(KeyField)]
enum Method {
    Card(Vec<f32>),
    Transfer { rate: f64 },
}

#[derive(KeyField)]
struct Price(f64);

fn main() {}
