use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use crate::response::ResponseBody;
use crate::serve::Answer;

pin_project! {
    /// The response of an [`Idempotency`](crate::Idempotency) service.
    ///
    /// # Cancel safety
    ///
    /// The work of a request with a key goes on when this is dropped, and is recorded. Any other request is the inner
    /// service's own.
    pub struct ResponseFuture<F, R, E> {
        #[pin]
        inner: Inner<F, R, E>,
    }
}

pin_project! {
    #[project = Projected]
    enum Inner<F, R, E> {
        Passed { #[pin] future: F },
        Answered { response: Option<Response<ResponseBody<R>>> },
        WorkedOn { answer: Pin<Box<dyn Future<Output = Answer<R, E>> + Send>> },
    }
}

impl<F, R, E> ResponseFuture<F, R, E> {
    pub(crate) fn passed(future: F) -> Self {
        Self {
            inner: Inner::Passed { future },
        }
    }

    pub(crate) fn answered(response: Response<ResponseBody<R>>) -> Self {
        Self {
            inner: Inner::Answered {
                response: Some(response),
            },
        }
    }

    pub(crate) fn worked_on(answer: Pin<Box<dyn Future<Output = Answer<R, E>> + Send>>) -> Self {
        Self {
            inner: Inner::WorkedOn { answer },
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Answer<R, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().inner.project() {
            Projected::Passed { future } => {
                let response = ready!(future.poll(context));
                Poll::Ready(response.map(|response| response.map(ResponseBody::passed)))
            }
            Projected::Answered { response } => {
                Poll::Ready(Ok(response.take().expect("a future is not polled after its end")))
            }
            Projected::WorkedOn { answer } => answer.as_mut().poll(context),
        }
    }
}
