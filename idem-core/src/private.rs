//! What generated code names. It is not public: anything here may change in any release.

pub use crate::key::canonical::{CanonicalError, CanonicalWriter, Elements, Members, Members as Out};
pub use crate::key::{
    AsDisplay, AsSet, AsText, FromCall, FromType, Idempotent, IdempotentFields, KeyDisplay, KeyField, KeyField as Key,
    KeySchema, KeySet, KeyTenant, KeyText, Native, Recursive, Shape, TenantField, TenantKnown, TenantSource, check_pin,
    subject_text,
};
pub use serde::Serialize;

/// What writing gives.
pub type Written = Result<(), CanonicalError>;
/// Whether there is a place.
pub type Placed = Result<bool, CanonicalError>;
/// The subject, if there is one.
pub type SubjectText = Result<Option<String>, CanonicalError>;
