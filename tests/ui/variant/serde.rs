use idem::idempotent;
use serde::Serialize;

#[idempotent(tenant = none)]
#[derive(Serialize)]
enum Command {
    #[idempotent(action = "refund.issue", key = [case_id])]
    #[serde(serialize_with = "issue")]
    Issue { case_id: String },
}

fn issue<S: serde::Serializer>(case_id: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(case_id)
}

fn main() {}
