//! What generated code names. It is not public: anything here may change in any release.

pub use crate::key::canonical::{CanonicalError, CanonicalWriter, Elements, Members};
pub use crate::key::{
    FromCall, FromType, Idempotent, IdempotentFields, KeyField, Native, TenantField, TenantKnown, TenantSource,
    subject_text,
};
pub use serde::Serialize;
pub use std::string::String;
