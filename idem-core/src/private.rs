//! What generated code names. It is not public: anything here may change in any release.

pub use crate::key::canonical::{CanonicalError, CanonicalWriter, Elements, Members};
pub use crate::key::{
    AsDisplay, AsSet, AsText, FromCall, FromType, Idempotent, IdempotentFields, KeyDisplay, KeyField, KeySchema,
    KeySet, KeyText, Native, Shape, TenantField, TenantKnown, TenantSource, check_pin, subject_text,
};
pub use serde::Serialize;
pub use std::string::String;
