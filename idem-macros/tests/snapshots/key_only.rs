#[idempotent(key = [case_id])]
struct Case {
    case_id: String,
}
