//! What generated code names. It is not public: anything here may change in any release.

pub use crate::clock::Timestamp;
pub use crate::key::canonical::{CanonicalError, CanonicalWriter, Elements, LOSSLESS, Members, Members as Out};
pub use crate::key::{
    AsDisplay, AsSet, AsText, FromCall, FromType, Idempotent, IdempotentFields, KeyDisplay, KeyField, KeyField as Key,
    KeySchema, KeySet, KeyTenant, KeyText, Native, Recursive, Shape, Tenant, TenantField, TenantKnown, TenantSource,
    check_pin, subject_text,
};
pub use serde::Serialize;

use crate::key::{Derived, KeyError, derive};

/// What writing gives.
pub type Written = Result<(), CanonicalError>;
/// Whether there is a place.
pub type Placed = Result<bool, CanonicalError>;
/// The subject, if there is one.
pub type SubjectText = Result<Option<String>, CanonicalError>;
/// What the previous definition says, if there is one.
pub type PreviousKey = Result<Option<Derived>, KeyError>;

/// Derives an input by its previous definition.
pub fn previous<New: Idempotent, Old: Idempotent>(input: &Old, tenant: Option<&Tenant>) -> PreviousKey {
    const {
        assert!(
            New::KEY_SCHEMA.as_u32() != Old::KEY_SCHEMA.as_u32(),
            "the type named by `previous` has the same action and key fields, so the new key of one effect can be the former key of another, and would get its outcome\nhelp: give the new definition another action, such as \"refund.issue.2\", or take `previous` away if the keys have not changed"
        );
        assert!(
            Old::PREVIOUS_UNTIL.is_none(),
            "the type named by `previous` has a `previous` itself, and a claim takes two keys at most\nhelp: deploy one change of a key after the other: wait for the date of the first, then take its `previous` away"
        );
    }
    derive(input, tenant).map(Some)
}
