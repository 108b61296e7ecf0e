//! The request header that carries the key.

use std::convert::Infallible;
use std::fmt;

use http::{HeaderMap, HeaderName};
use idem_core::ClientKey;
use sfv::visitor::{Ignored, parameter_visitor_with};
use sfv::{BareItemFromInput, Parser};

/// Reads the value of an `Idempotency-Key` header.
///
/// A value that begins with a double quote is an Item of RFC 9651 whose value is a String; its parameters are ignored.
/// Any other value is taken as it stands, unless `strict`: letters, digits and ``! # $ % & ' * + - . ^ _ ` | ~ : / = @``.
/// Quoted or bare, the same text is the same key.
///
/// # Errors
///
/// When the value is no key, saying why.
///
/// # Examples
///
/// ```
/// use idem_tower::parse_key;
///
/// let quoted = parse_key(br#""8e03978e-40d5""#, false)?;
/// assert_eq!(quoted, parse_key(b"8e03978e-40d5", false)?);
/// assert!(parse_key(b"8e03978e-40d5", true).is_err());
/// # Ok::<(), idem_tower::InvalidKey>(())
/// ```
pub fn parse_key(value: &[u8], strict: bool) -> Result<ClientKey, InvalidKey> {
    let text = match value.first() {
        None => return Err(InvalidKey::new("it is empty")),
        Some(b'"') => quoted(value)?,
        Some(_) if strict => {
            return Err(InvalidKey::new(
                "it is not in double quotes, which this service asks for: `\"8e03978e-40d5-43e8-bc93-6894a57f9324\"`",
            ));
        }
        Some(_) => bare(value)?.to_owned(),
    };
    if text.contains(' ') {
        return Err(InvalidKey::new("it has a space in it"));
    }
    ClientKey::parse(&text).map_err(|_| InvalidKey::new("it has to have 1 to 255 characters"))
}

fn quoted(value: &[u8]) -> Result<String, InvalidKey> {
    let item = |item: BareItemFromInput<'_>| {
        let text = match item {
            BareItemFromInput::String(text) => Some(text.as_str().to_owned()),
            _ => None,
        };
        Ok::<_, Infallible>(parameter_visitor_with(Ignored, move |_| Ok(text)))
    };
    match Parser::new(value).parse_item_with_visitor(item) {
        Ok(Some(text)) => Ok(text),
        Ok(None) | Err(_) => Err(InvalidKey::new(
            "it begins with a double quote but is no string of RFC 9651: one pair of quotes around visible ASCII, and a backslash before `\"` and `\\` only",
        )),
    }
}

fn bare(value: &[u8]) -> Result<&str, InvalidKey> {
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/=@".contains(byte);
    match std::str::from_utf8(value) {
        Ok(text) if value.iter().all(legal) => Ok(text),
        _ => Err(InvalidKey::new(
            "it holds a character that an unquoted key cannot have: put it in double quotes, or use letters, digits, `-` and `_`",
        )),
    }
}

/// Why a header holds no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidKey {
    reason: std::borrow::Cow<'static, str>,
}

impl InvalidKey {
    pub(crate) fn new(reason: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }

    /// What is wrong, as a sentence about the key without its subject: "it is empty".
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for InvalidKey {}

/// What keys a service takes.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) name: HeaderName,
    pub(crate) strict: bool,
    pub(crate) shortest: usize,
    pub(crate) longest: usize,
}

impl Rules {
    /// The key of a request; `None` where it has none.
    pub(crate) fn read(&self, headers: &HeaderMap) -> Result<Option<ClientKey>, InvalidKey> {
        let mut values = headers.get_all(&self.name).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            // Proxies and frameworks differ in which one they would pick.
            return Err(InvalidKey::new("the header is there more than once"));
        }
        let key = parse_key(value.as_bytes(), self.strict)?;
        let length = key.as_str().len();
        if !(self.shortest..=self.longest).contains(&length) {
            return Err(InvalidKey::new(format!(
                "it has {length} characters, and this service takes {} to {}",
                self.shortest, self.longest
            )));
        }
        Ok(Some(key))
    }
}

#[cfg(test)]
mod tests;
