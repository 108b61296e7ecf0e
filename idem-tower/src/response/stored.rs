//! A response as it is recorded.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use idem_core::__private::LOSSLESS;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A response as it is recorded: JSON, so that whoever looks into the store can read it.
///
/// `{"status":201,"headers":[["location","/orders/1"]],"content":{"text":".."},"trailers":[]}`. Headers are in their order,
/// repeats included, and each byte of a value is one character. Content that is not UTF-8 is `{"base64":".."}`, and what was not
/// kept is `"not_kept"`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredResponse {
    status: StatusCode,
    headers: HeaderMap,
    content: Content,
    trailers: HeaderMap,
}

/// The body of a recorded response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Kept(Bytes),
    /// The body was too long or had no end; repeats do not get it.
    NotKept,
}

impl Content {
    pub(crate) fn of(bytes: &Bytes) -> Self {
        Self::Kept(bytes.clone())
    }
}

impl StoredResponse {
    /// Keeps the status and those of the headers that `keeps` takes, without a body as yet.
    pub(crate) fn head(status: StatusCode, headers: &HeaderMap, keeps: impl Fn(&HeaderName) -> bool) -> Self {
        let mut kept = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| keeps(name)) {
            kept.append(name, value.clone());
        }
        Self {
            status,
            headers: kept,
            content: Content::NotKept,
            trailers: HeaderMap::new(),
        }
    }

    /// Adds body and trailers.
    pub(crate) fn with(mut self, content: Content, trailers: Option<&HeaderMap>) -> Self {
        self.content = content;
        if let Some(trailers) = trailers {
            self.trailers = trailers.clone();
        }
        self
    }

    /// The response, its body and its trailers; `None` where the body was not kept.
    pub(crate) fn into_response(self) -> Option<(Response<Bytes>, Option<HeaderMap>)> {
        let Content::Kept(body) = self.content else {
            return None;
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        Some((response, (!self.trailers.is_empty()).then_some(self.trailers)))
    }
}

impl Serialize for StoredResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            status: u16,
            headers: Lines<&'a HeaderMap>,
            content: &'a Content,
            #[serde(skip_serializing_if = "Lines::is_empty")]
            trailers: Lines<&'a HeaderMap>,
        }
        let members = Members {
            status: self.status.as_u16(),
            headers: Lines(&self.headers),
            content: &self.content,
            trailers: Lines(&self.trailers),
        };
        serializer.serialize_newtype_struct(LOSSLESS, &members)
    }
}

impl<'de> Deserialize<'de> for StoredResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            status: u16,
            headers: Lines<HeaderMap>,
            content: Content,
            #[serde(default)]
            trailers: Lines<HeaderMap>,
        }
        let members = Members::deserialize(deserializer)?;
        Ok(Self {
            status: StatusCode::from_u16(members.status).map_err(D::Error::custom)?,
            headers: members.headers.0,
            content: members.content,
            trailers: members.trailers.0,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written<'a> {
    Text(Cow<'a, str>),
    Base64(Cow<'a, str>),
    NotKept,
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::NotKept => Written::NotKept,
            Self::Kept(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Written::Text(text.into()),
                Err(_) => Written::Base64(STANDARD.encode(bytes).into()),
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self::Kept(text.into_owned().into()),
            Written::Base64(text) => Self::Kept(STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)?.into()),
            Written::NotKept => Self::NotKept,
        })
    }
}

/// Headers as pairs.
#[derive(Default)]
struct Lines<H>(H);

impl Lines<&HeaderMap> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Lines<&HeaderMap> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut lines = serializer.serialize_seq(Some(self.0.len()))?;
        for (name, value) in self.0 {
            lines.serialize_element(&(name.as_str(), latin1(value.as_bytes())))?;
        }
        lines.end()
    }
}

impl<'de> Deserialize<'de> for Lines<HeaderMap> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = HeaderMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("pairs of names and values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<HeaderMap, A::Error> {
                let mut map = HeaderMap::new();
                while let Some((Name(name), Value(value))) = lines.next_element()? {
                    map.append(name, value);
                }
                Ok(map)
            }
        }
        deserializer.deserialize_seq(Pairs).map(Self)
    }
}

struct Name(HeaderName);

struct Value(HeaderValue);

macro_rules! of_text {
    ($type:ident, $read:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("the text of a header")
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        let read: fn(&str) -> Option<$type> = $read;
                        read(text).ok_or_else(|| E::custom("a header that cannot be one"))
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

of_text!(Name, |text| HeaderName::from_bytes(text.as_bytes()).ok().map(Name));
of_text!(Value, |text| {
    let value = match text.is_ascii() {
        true => HeaderValue::from_bytes(text.as_bytes()),
        false => {
            let bytes: Option<Vec<u8>> = text
                .chars()
                .map(|character| u8::try_from(u32::from(character)).ok())
                .collect();
            HeaderValue::from_maybe_shared(Bytes::from(bytes?))
        }
    };
    value.ok().map(Value)
});

/// A header's value is bytes of any charset; ISO-8859-1 has a character for each.
fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => text.into(),
        _ => bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(stored: &StoredResponse) -> StoredResponse {
        serde_json::from_str(&serde_json::to_string(stored).unwrap()).unwrap()
    }

    #[test]
    fn headers_keep_their_bytes_order_and_repeats() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("link", &b"</a>; rel=\"x\""[..]),
            ("x-name", b"caf\xe9 \x80\xff"),
            ("link", b"</b>, </c>"),
            ("set-cookie", b"sid=1"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        let keeps = |name: &HeaderName| name != "set-cookie";
        let stored = StoredResponse::head(StatusCode::CREATED, &headers, keeps).with(Content::of(&Bytes::new()), None);
        assert!(!serde_json::to_string(&stored).unwrap().contains("sid"));
        let (response, trailers) = round_trip(&stored).into_response().unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
        let links: Vec<_> = response.headers().get_all("link").iter().collect();
        assert_eq!(links, ["</a>; rel=\"x\"", "</b>, </c>"]);
        assert_eq!(response.headers()["x-name"].as_bytes(), b"caf\xe9 \x80\xff");
        assert!(trailers.is_none() && response.headers().len() == 3);
    }

    #[test]
    fn a_body_of_any_bytes_comes_back() {
        for body in [
            Bytes::from((0..=255).collect::<Vec<u8>>()),
            Bytes::from("{\"é\":\"\\u0000\"}"),
            Bytes::new(),
        ] {
            let stored =
                StoredResponse::head(StatusCode::OK, &HeaderMap::new(), |_| true).with(Content::of(&body), None);
            let (response, _) = round_trip(&stored).into_response().unwrap();
            assert_eq!(*response.body(), body);
        }
    }

    #[test]
    fn trailers_come_back_and_a_body_that_was_not_kept_does_not() {
        let trailers: HeaderMap = [(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]
            .into_iter()
            .collect();
        let mut stored = StoredResponse::head(StatusCode::OK, &HeaderMap::new(), |_| true)
            .with(Content::of(&Bytes::new()), Some(&trailers));
        assert_eq!(round_trip(&stored).into_response().unwrap().1, Some(trailers));
        stored.content = Content::NotKept;
        assert!(round_trip(&stored).into_response().is_none());
    }
}
