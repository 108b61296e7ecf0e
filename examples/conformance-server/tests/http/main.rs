//! The cases of HTTP, asked of the real program over real sockets.
//!
//! A test is named after its case. Where the storage or the mode matters, it is asked in several settings, and a failure
//! names the setting.

mod acp;
mod concurrency;
mod crash;
mod expiry;
mod fingerprint;
mod key_syntax;
mod key_value;
mod outcomes;
mod presence;
mod replay;
mod request_body;
mod security;
mod shutdown;
mod storage;
mod support;
mod transactions;
