//! One line in, one line out.

use idem::canonical::{self, Mode};
use idem::{Digest, IdempotencyKey, KeyError, Params, Tenant};
use serde::Serialize;
use serde_json::Value;

/// What is printed for a line.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Answer {
    Key {
        canonical: String,
        sha256: Digest,
        key: IdempotencyKey,
    },
    Refusal {
        error: String,
        path: String,
    },
}

/// Answers one line, whatever it holds.
pub fn answer(line: Result<&[u8], String>) -> Answer {
    let request = line.and_then(read);
    match request {
        Ok(request) => derive(&request).unwrap_or_else(|refusal| refusal),
        Err(fault) => {
            let error =
                format!(r#"{fault}; expected a JSON object {{"input": <JSON text as a string>, "tenant": <string>}}"#);
            Answer::Refusal {
                error,
                path: String::new(),
            }
        }
    }
}

struct Request {
    input: String,
    tenant: String,
}

/// Reads the outer object; members other than the two are left alone, as long as none is given twice.
fn read(line: &[u8]) -> Result<Request, String> {
    let line = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
    if line.trim_ascii().is_empty() {
        return Err("the line is blank".to_owned());
    }
    let outer: Params = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let member = |name: &str| match outer.as_value() {
        Value::Object(members) => match members.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("the member `{name}` is no string")),
            None => Err(format!("the member `{name}` is missing")),
        },
        _ => Err("the line is no object".to_owned()),
    };
    Ok(Request {
        input: member("input")?,
        tenant: member("tenant")?,
    })
}

fn derive(request: &Request) -> Result<Answer, Answer> {
    let tenant = Tenant::parse(&request.tenant).map_err(|error| refuse(&error, "tenant"))?;
    let form = canonical::from_json(request.input.as_bytes(), Mode::Key).map_err(|error| Answer::Refusal {
        error: error.to_string(),
        path: error.path(),
    })?;
    let key = IdempotencyKey::from_json(&tenant, &form).map_err(|error| refuse(&error, error.path()))?;
    Ok(Answer::Key {
        sha256: Digest::of(&form),
        canonical: String::from_utf8_lossy(&form).into_owned(),
        key,
    })
}

fn refuse(error: &KeyError, path: &str) -> Answer {
    Answer::Refusal {
        error: error.to_string(),
        path: path.to_owned(),
    }
}
