#[derive(KeyField)]
struct Line<T> {
    #[key]
    sku: T,
    #[key]
    #[serde(rename = "qty")]
    quantity: Option<u32>,
    #[transient]
    label: String,
}
