//! Arguments of a decision, as free JSON.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// JSON of any shape that goes into a key.
///
/// It is a [`serde_json::Value`] whose deserialisation refuses a name given twice; a `Value` keeps one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Params(Value);

impl Params {
    /// Returns the JSON.
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

impl From<Value> for Params {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strict).map(Self)
    }
}

struct Strict;

macro_rules! scalars {
    ($($method:ident: $scalar:ty),*) => {
        $(fn $method<E: de::Error>(self, value: $scalar) -> Result<Value, E> { Ok(value.into()) })*
    };
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a name given twice in one object")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_str: &str, visit_string: String);

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("NaN and infinities are no JSON numbers"))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Params(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                let fault = format_args!("the name {name:?} is given twice in one object: give it once");
                return Err(de::Error::custom(fault));
            }
            let Params(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(number_in(&object).unwrap_or(Value::Object(object)))
    }
}

/// Finds the number in the map by which serde_json passes a literal on, when any crate of the build turned on its
/// `arbitrary_precision`. In a build without it such a map is a map.
fn number_in(object: &Map<String, Value>) -> Option<Value> {
    const NAME: &str = "$serde_json::private::Number";
    let literal = object.get(NAME).filter(|_| object.len() == 1)?.as_str()?;
    let keeps_literals =
        serde_json::from_str::<Value>(&format!(r#"{{"{NAME}":"0"}}"#)).is_ok_and(|value| value.is_number());
    keeps_literals.then(|| literal.parse::<Number>().ok().map(Value::Number))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_are_refused_at_every_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"x":{"k":1,"\u006b":1}}]"#] {
            let error = serde_json::from_str::<Params>(text).unwrap_err();
            assert!(error.to_string().contains("given twice"), "{error}");
        }
    }

    #[test]
    fn json_is_kept_as_it_is() {
        for text in [
            "null",
            "true",
            "-1",
            "1.5",
            r#"[1,"a",{"b":[null]}]"#,
            r#"{"$serde_json::private::Number":"1"}"#,
        ] {
            let params: Params = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&params).unwrap(), text);
        }
    }
}
