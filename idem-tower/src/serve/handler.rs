//! Calling the wrapped service.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use http::Request;
use tower_service::Service;

/// The service, made ready or not.
pub(crate) struct Handler<I> {
    service: I,
    is_ready: bool,
}

impl<I> Handler<I> {
    /// `service` has been polled ready, and what that reserved is this request's.
    pub(crate) fn ready(service: I) -> Self {
        Self {
            service,
            is_ready: true,
        }
    }

    /// Gives back what was reserved, for a request that may be answered without.
    pub(crate) fn give_back(&mut self)
    where
        I: Clone,
    {
        if self.is_ready {
            self.service = self.service.clone();
            self.is_ready = false;
        }
    }

    /// Calls the service. What panics in it is told apart from its own errors.
    pub(crate) async fn call<R>(mut self, request: Request<R>) -> Called<I::Response, I::Error>
    where
        I: Service<Request<R>>,
    {
        if !self.is_ready {
            let readied = std::future::poll_fn(|context| self.service.poll_ready(context)).await;
            if let Err(error) = readied {
                return Called::Unready(error);
            }
        }
        // Nothing of it is used after a panic, so nothing half-done is seen.
        let Ok(response) = catch_unwind(AssertUnwindSafe(|| self.service.call(request))) else {
            return Called::Panicked;
        };
        let mut response = pin!(response);
        let polled =
            std::future::poll_fn(
                |context| match catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context))) {
                    Ok(polled) => polled.map(Some),
                    Err(_) => Poll::Ready(None),
                },
            );
        match polled.await {
            Some(Ok(response)) => Called::Answered(response),
            Some(Err(error)) => Called::Failed(error),
            None => Called::Panicked,
        }
    }
}

/// How a call of the service ended.
pub(crate) enum Called<R, E> {
    Answered(R),
    /// The service's own error, which the layer passes on.
    Failed(E),
    /// The same, before the request was handed over.
    Unready(E),
    /// The panic hook has said where.
    Panicked,
}
