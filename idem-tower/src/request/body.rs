use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a request behind the layer: as it came, or, where the layer has read it, from memory.
    ///
    /// It says its exact length in the latter case, and has the trailers that the request had.
    #[project = Projected]
    pub struct RequestBody<B> {
        #[pin]
        inner: Inner<B>,
    }
}

pin_project! {
    #[project = ProjectedInner]
    enum Inner<B> {
        Passed { #[pin] body: B },
        Read { bytes: Bytes, trailers: Option<HeaderMap> },
    }
}

impl<B> RequestBody<B> {
    pub(crate) fn passed(body: B) -> Self {
        Self {
            inner: Inner::Passed { body },
        }
    }

    pub(crate) fn read(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self {
            inner: Inner::Read { bytes, trailers },
        }
    }
}

impl<B> std::fmt::Debug for RequestBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}

impl<B: Body> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.project().inner.project() {
            ProjectedInner::Passed { body } => {
                let frame = ready!(body.poll_frame(context));
                let whole = |frame: Frame<B::Data>| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
                Poll::Ready(frame.map(|frame| frame.map(whole)))
            }
            ProjectedInner::Read { bytes, .. } if !bytes.is_empty() => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))))
            }
            ProjectedInner::Read { trailers, .. } => {
                Poll::Ready(trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Passed { body } => body.is_end_stream(),
            Inner::Read { bytes, trailers } => bytes.is_empty() && trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Passed { body } => body.size_hint(),
            Inner::Read { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}
