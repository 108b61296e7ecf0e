use std::pin::pin;

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use http_body_util::BodyExt as _;

/// A request body in memory.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    TooLarge,
    /// The client went away, or sent what is no body.
    Broken,
}

/// Reads a body of `limit` bytes at most. What its length is said to be spares reading one that is too long, and is not
/// relied on.
///
/// # Cancel safety
///
/// What was read is lost.
pub(crate) async fn read<B: Body>(body: B, limit: usize) -> Result<Read, ReadError> {
    let limit_of_hint = u64::try_from(limit).unwrap_or(u64::MAX);
    if body.size_hint().lower() > limit_of_hint {
        return Err(ReadError::TooLarge);
    }
    let mut body = pin!(body);
    let mut read = Parts::default();
    while let Some(frame) = body.frame().await {
        match frame.map_err(|_| ReadError::Broken)?.into_data() {
            Ok(mut data) => {
                if data.remaining() > limit - read.len() {
                    return Err(ReadError::TooLarge);
                }
                read.push(data.copy_to_bytes(data.remaining()));
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    read.trailers.get_or_insert_default().extend(trailers);
                }
            }
        }
    }
    Ok(Read {
        trailers: read.trailers.take(),
        bytes: read.into_bytes(),
    })
}

/// Most bodies come in one piece, which is not copied.
#[derive(Default)]
struct Parts {
    first: Bytes,
    rest: BytesMut,
    trailers: Option<HeaderMap>,
}

impl Parts {
    fn len(&self) -> usize {
        match self.rest.is_empty() {
            true => self.first.len(),
            false => self.rest.len(),
        }
    }

    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = data;
            return;
        }
        if self.rest.is_empty() {
            self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        match self.rest.is_empty() {
            true => self.first,
            false => self.rest.freeze(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn chunks(chunks: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = std::io::Error> + use<> {
        let frames: Vec<_> = chunks
            .iter()
            .map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))))
            .collect();
        StreamBody::new(Frames(frames.into_iter()))
    }

    struct Frames(std::vec::IntoIter<Result<Frame<Bytes>, std::io::Error>>);

    impl futures_core::Stream for Frames {
        type Item = Result<Frame<Bytes>, std::io::Error>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.next())
        }
    }

    #[tokio::test]
    async fn a_body_is_read_whole_up_to_the_limit() {
        for parts in [
            vec![],
            vec![&b"abc"[..]],
            vec![b"a", b"b", b"c"],
            vec![b"", b"ab", b"", b"c", b""],
        ] {
            let whole = parts.concat();
            let read = read(chunks(&parts), 3).await.unwrap();
            assert_eq!(read.bytes, whole, "{parts:?}");
        }
        assert_eq!(read(chunks(&[b"ab", b"cd"]), 3).await.unwrap_err(), ReadError::TooLarge);
    }

    #[tokio::test]
    async fn a_length_beyond_the_limit_is_refused_unread() {
        let body = Full::new(Bytes::from_static(b"abcd"));
        assert_eq!(read(body, 3).await.unwrap_err(), ReadError::TooLarge);
    }
}
