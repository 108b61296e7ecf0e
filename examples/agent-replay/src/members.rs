//! Typed access to the members of a JSON object. Every error names the member; what nobody takes is left over.

use std::fmt;

use idem::canonical::{self, Mode};
use idem::{CanonicalError, KeyError};
use rust_decimal::Decimal;
use serde_json::{Map, Number, Value};

/// The members of one object, taken one by one.
pub struct Members(Map<String, Value>);

impl Members {
    /// Reads a JSON object and gives its canonical form beside it.
    ///
    /// A lenient reader keeps the last of two members with one name and turns 2^53 + 1 into 2^53. Either would let two
    /// different calls look alike, so idem's own reader goes first, which refuses both.
    pub fn read(text: &str) -> Result<(Self, String), Problem> {
        let canonical = canonical::from_json(text.as_bytes(), Mode::Key)?;
        let value = serde_json::from_slice(&canonical).map_err(|error| Problem::new(error.to_string()))?;
        // The canonical form of text is text.
        Ok((Self::of(value)?, String::from_utf8_lossy(&canonical).into_owned()))
    }

    pub fn text(&mut self, name: &str) -> Result<String, Problem> {
        self.take(name, "a string", |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    /// A string by which the ledger finds what was done: it is a column with an index, which takes no text whatever.
    pub fn id(&mut self, name: &str) -> Result<String, Problem> {
        let text = self.text(name)?;
        if text.len() > LONGEST_ID {
            let what = format!("expected at most {LONGEST_ID} bytes, found {}", text.len());
            return Err(Problem::new(what).within(name));
        }
        if text.contains('\0') {
            return Err(Problem::new("U+0000 has no place in an identifier").within(name));
        }
        Ok(text)
    }

    /// A string that may be missing.
    pub fn optional_text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        if self.0.contains_key(name) {
            self.text(name).map(Some)
        } else {
            Ok(None)
        }
    }

    pub fn integer(&mut self, name: &str) -> Result<i64, Problem> {
        self.number(name, "an integer", integer)
    }

    pub fn decimal(&mut self, name: &str) -> Result<Decimal, Problem> {
        self.number(name, "an amount that a decimal can hold", decimal)
    }

    pub fn list<T>(&mut self, name: &str, read: impl Fn(Members) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
        let elements = self.take(name, "an array", |value| match value {
            Value::Array(elements) => Ok(elements),
            other => Err(other),
        })?;
        let read = |(index, element)| {
            Members::of(element)
                .and_then(&read)
                .map_err(|problem| problem.within(&format!("{name}[{index}]")))
        };
        elements.into_iter().enumerate().map(read).collect()
    }

    /// What is left over, once the members in `known` are seen to be of their kinds or missing.
    pub fn rest(self, known: &[(&str, Kind)]) -> Result<Map<String, Value>, Problem> {
        for (name, kind) in known {
            match self.0.get(*name) {
                Some(value) if !kind.matches(value) => return Err(Problem::expected(kind.name(), value).within(name)),
                _ => {}
            }
        }
        Ok(self.0)
    }

    fn of(value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            other => Err(Problem::expected("an object", &other)),
        }
    }

    fn number<T>(&mut self, name: &str, wanted: &str, read: fn(&Number) -> Option<T>) -> Result<T, Problem> {
        self.take(name, wanted, |value| match &value {
            Value::Number(number) => read(number).ok_or(value),
            _ => Err(value),
        })
    }

    fn take<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<T, Problem> {
        let value = self
            .0
            .remove(name)
            .ok_or_else(|| Problem::new("the member is missing").within(name))?;
        read(value).map_err(|other| Problem::expected(wanted, &other).within(name))
    }
}

/// The kind of a payload member. A model may leave it out or write `null`.
#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    Integer,
    Array,
}

impl Kind {
    fn matches(self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) | (Self::Text, Value::String(_)) | (Self::Array, Value::Array(_)) => true,
            (Self::Integer, Value::Number(number)) => integer(number).is_some(),
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer",
            Self::Array => "an array",
        }
    }
}

/// What is wrong with a value, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    path: String,
    what: String,
}

impl Problem {
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            what: what.into(),
        }
    }

    /// The same problem, seen from the object that holds the value as member `name`.
    pub fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    fn expected(wanted: &str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(number) => return Self::new(format!("expected {wanted}, found {number}")),
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Self::new(format!("expected {wanted}, found {found}"))
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        Self {
            path: error.path().to_owned(),
            what: error.reason().to_owned(),
        }
    }
}

impl From<CanonicalError> for Problem {
    fn from(error: CanonicalError) -> Self {
        let place = error
            .offset()
            .map(|offset| format!(" (at byte {offset})"))
            .unwrap_or_default();
        Self {
            path: error.path(),
            what: format!("{}{place}", error.reason()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.path, self.what)
        }
    }
}

/// A number as an integer, however it was spelled: the canonical form of `3.0` and `3e0` is `3`.
fn integer(number: &Number) -> Option<i64> {
    number.as_i64()
}

/// A number as an exact decimal without trailing zeros.
fn decimal(number: &Number) -> Option<Decimal> {
    let text = number.to_string();
    let value = Decimal::from_str_exact(&text).or_else(|_| Decimal::from_scientific(&text));
    value.ok().map(|value| value.normalize())
}

const LONGEST_ID: usize = 1024;
