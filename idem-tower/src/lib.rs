//! The idempotency layer of idem for HTTP services: axum and any Tower stack.

mod attempt;
#[cfg(feature = "axum")]
mod axum;
mod builder;
mod config;
mod failure;
mod future;
mod header;
mod layer;
mod problem;
mod profile;
mod request;
mod response;
mod serve;
mod service;
mod status;
mod tx;

pub use attempt::Attempt;
pub use builder::{Builder, HasScope, NoScope, Scoped};
pub use failure::Failure;
pub use future::ResponseFuture;
pub use header::{InvalidKey, parse_key};
pub use layer::IdempotencyLayer;
pub use problem::{Problem, ProblemKind, Rendered};
pub use profile::Profile;
pub use request::RequestBody;
pub use response::ResponseBody;
pub use serve::{Leased, Mode, Transactional};
pub use service::Idempotency;
pub use status::{Disposition, DoNotStore, EffectCommitted, NothingHappened, Unbounded};
pub use tx::{Tx, TxError};
