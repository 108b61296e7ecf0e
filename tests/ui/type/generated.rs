use idem::{Generated, KeyField, idempotent};

#[idempotent(action = "mail.send", key = [case_id, body, notes], tenant = none, subject = body)]
struct SendMail {
    case_id: String,
    body: Generated<String>,
    notes: Option<Vec<Generated<String>>>,
}

#[derive(KeyField)]
struct Line {
    sku: String,
    label: Generated<String>,
}

fn main() {}
