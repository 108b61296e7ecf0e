use std::collections::VecDeque;
use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::sync::mpsc;

/// What the task that keeps a body while it is delivered sends. A body that ends without saying so broke off.
pub(crate) enum Relayed {
    Frame(Frame<Bytes>),
    End,
    Broken(BoxError),
}

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

pin_project! {
    /// The body of a response behind the layer: the handler's own, or one from memory.
    pub struct ResponseBody<B> {
        #[pin]
        inner: Inner<B>,
    }
}

pin_project! {
    #[project = Projected]
    enum Inner<B> {
        /// As the handler made it.
        Passed { #[pin] body: B },
        /// Whole, from the record or from memory.
        Whole { bytes: Bytes, trailers: Option<HeaderMap> },
        /// Frames that were read ahead, then the rest as the handler makes it.
        Resumed { read: VecDeque<Frame<Bytes>>, rest: Option<Pin<Box<B>>>, failed: Option<BoxError> },
        /// From the task that keeps it while it is delivered.
        Relayed { frames: mpsc::Receiver<Relayed>, is_done: bool },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn passed(body: B) -> Self {
        Self {
            inner: Inner::Passed { body },
        }
    }

    pub(crate) fn whole(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self {
            inner: Inner::Whole { bytes, trailers },
        }
    }

    /// `rest` is what was not read; or the body `failed` there.
    pub(crate) fn resumed(read: VecDeque<Frame<Bytes>>, rest: Result<Pin<Box<B>>, BoxError>) -> Self {
        let (rest, failed) = match rest {
            Ok(rest) => (Some(rest), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            inner: Inner::Resumed { read, rest, failed },
        }
    }

    pub(crate) fn relayed(frames: mpsc::Receiver<Relayed>) -> Self {
        Self {
            inner: Inner::Relayed { frames, is_done: false },
        }
    }
}

impl<B> From<Bytes> for ResponseBody<B> {
    fn from(bytes: Bytes) -> Self {
        Self::whole(bytes, None)
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.project().inner.project() {
            Projected::Passed { body } => poll_whole(body, context),
            Projected::Whole { bytes, .. } if !bytes.is_empty() => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))))
            }
            Projected::Whole { trailers, .. } => {
                Poll::Ready(trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
            }
            Projected::Resumed { read, rest, failed } => match (read.pop_front(), rest.as_mut()) {
                (Some(frame), _) => Poll::Ready(Some(Ok(frame))),
                (None, Some(rest)) => poll_whole(rest.as_mut(), context),
                (None, None) => Poll::Ready(failed.take().map(Err)),
            },
            Projected::Relayed { is_done: true, .. } => Poll::Ready(None),
            Projected::Relayed { frames, is_done } => {
                let relayed = ready!(frames.poll_recv(context));
                *is_done = !matches!(relayed, Some(Relayed::Frame(_)));
                Poll::Ready(match relayed {
                    Some(Relayed::Frame(frame)) => Some(Ok(frame)),
                    Some(Relayed::End) => None,
                    Some(Relayed::Broken(error)) => Some(Err(error)),
                    None => Some(Err("the response broke off: its task ended in the middle".into())),
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Passed { body } => body.is_end_stream(),
            Inner::Whole { bytes, trailers } => bytes.is_empty() && trailers.is_none(),
            Inner::Resumed { .. } | Inner::Relayed { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Passed { body } => body.size_hint(),
            Inner::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Inner::Resumed { read, rest, .. } => {
                let ahead: u64 = read
                    .iter()
                    .filter_map(Frame::data_ref)
                    .map(|data| data.len() as u64)
                    .sum();
                let rest = rest.as_ref().map(Body::size_hint).unwrap_or_default();
                let mut hint = SizeHint::new();
                hint.set_lower(ahead + rest.lower());
                if let Some(upper) = rest.upper() {
                    hint.set_upper(ahead + upper);
                }
                hint
            }
            Inner::Relayed { .. } => SizeHint::default(),
        }
    }
}

impl<B> std::fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}

/// One frame of a body, with its data as [`Bytes`].
fn poll_whole<B>(body: Pin<&mut B>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    let frame = ready!(body.poll_frame(context));
    Poll::Ready(frame.map(|frame| match frame {
        Ok(frame) => Ok(in_bytes(frame)),
        Err(error) => Err(error.into()),
    }))
}

pub(crate) fn in_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}
