//! What a program tells its operators about its calls.

mod conclusion;
mod event;
#[cfg(feature = "metrics")]
mod metrics;
mod observer;

pub use conclusion::Conclusion;
pub use event::{CallClaimed, CallConcluded};
#[cfg(feature = "metrics")]
pub use metrics::MetricsObserver;
pub use observer::Observer;
pub(crate) use observer::tell;

#[cfg(test)]
mod tests;
