#[derive(KeyField)]
#[serde(rename_all = "snake_case")]
enum Method {
    BankTransfer,
    Card(CardId),
    Split(u32, u32),
    Voucher { code: String },
}
