//! The response: what of it is kept, and how it reaches its first caller and those after it.

mod body;
mod headers;
mod stored;
mod take;

pub use body::ResponseBody;
pub(crate) use body::{BoxError, Relayed, in_bytes};
pub(crate) use headers::{KEPT, is_never_kept};
pub(crate) use stored::{Content, StoredResponse};
pub(crate) use take::{Taken, Whole, is_event_stream, joined, take};
