//! A response as it is recorded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::{Deserialize, Serialize};

/// A response as it is recorded: JSON, so that whoever looks into the store can read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredResponse {
    status: u16,
    /// In their order, repeats included; each byte of a value is one character.
    headers: Vec<(String, String)>,
    content: Content,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trailers: Vec<(String, String)>,
}

/// The body of a recorded response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Content {
    /// What is UTF-8.
    Text(String),
    /// Anything else.
    Base64(Base64),
    /// The body was too long or had no end; repeats do not get it.
    NotKept,
}

impl Content {
    pub(crate) fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(Base64(bytes.clone())),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Base64(Bytes);

impl Serialize for Base64 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}

impl StoredResponse {
    /// Keeps the status and those of the headers that `keeps` takes, without a body as yet.
    pub(crate) fn head(status: StatusCode, headers: &HeaderMap, keeps: impl Fn(&HeaderName) -> bool) -> Self {
        Self {
            status: status.as_u16(),
            headers: lines(headers.iter().filter(|(name, _)| keeps(name))),
            content: Content::NotKept,
            trailers: Vec::new(),
        }
    }

    /// Adds body and trailers.
    pub(crate) fn with(mut self, content: Content, trailers: Option<&HeaderMap>) -> Self {
        self.content = content;
        if let Some(trailers) = trailers {
            self.trailers = lines(trailers.iter());
        }
        self
    }

    /// The response, its body and its trailers; `None` where the body was not kept or the record is of no use.
    pub(crate) fn into_response(self) -> Option<(Response<Bytes>, Option<HeaderMap>)> {
        let body = match self.content {
            Content::Text(text) => text.into(),
            Content::Base64(Base64(bytes)) => bytes,
            Content::NotKept => return None,
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).ok()?;
        *response.headers_mut() = header_map(self.headers)?;
        let trailers = match self.trailers.is_empty() {
            true => None,
            false => Some(header_map(self.trailers)?),
        };
        Some((response, trailers))
    }
}

fn lines<'h>(headers: impl Iterator<Item = (&'h HeaderName, &'h HeaderValue)>) -> Vec<(String, String)> {
    headers
        .map(|(name, value)| (name.as_str().to_owned(), latin1(value.as_bytes())))
        .collect()
}

fn header_map(lines: Vec<(String, String)>) -> Option<HeaderMap> {
    let mut map = HeaderMap::with_capacity(lines.len());
    for (name, value) in lines {
        let name = HeaderName::try_from(name).ok()?;
        let bytes = match value.is_ascii() {
            true => value.into_bytes(),
            false => value
                .chars()
                .map(|character| u8::try_from(u32::from(character)))
                .collect::<Result<_, _>>()
                .ok()?,
        };
        map.append(name, HeaderValue::try_from(bytes).ok()?);
    }
    Some(map)
}

/// A header's value is bytes of any charset; ISO-8859-1 has a character for each.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
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
