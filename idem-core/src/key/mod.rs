//! Keys: what identifies an effect before it happens, and how the identity is derived.

pub mod canonical;

mod basis;
mod client_key;
mod decision;
mod derive;
mod digest;
mod downstream;
mod error;
mod field;
mod fingerprint;
mod generated;
mod idempotency_key;
mod idempotent;
mod identified;
mod model;
mod params;
mod place;
mod schema;
mod shape;
mod tenant;

pub use self::basis::Basis;
pub use self::canonical::{CanonicalError, CanonicalErrorKind};
pub use self::client_key::{ClientKey, ClientKeyFormat};
pub use self::decision::{Decision, Subject};
pub use self::derive::{Derived, derive};
pub use self::digest::Digest;
pub use self::error::{KeyError, KeyErrorKind};
pub use self::field::{
    AsDisplay, AsSet, AsText, ElementMarker, InOption, Itself, KeyDisplay, KeyField, KeyName, KeySet, KeyText, Native,
    Ordered, Single, subject_text,
};
#[doc(hidden)]
pub use self::field::{Recursive, refused};
pub use self::fingerprint::Fingerprint;
pub use self::generated::Generated;
#[doc(hidden)]
pub use self::generated::HoldsGenerated;
pub use self::idempotency_key::IdempotencyKey;
pub use self::idempotent::{FromCall, FromType, Idempotent, IdempotentFields, TenantField, TenantKnown, TenantSource};
pub use self::identified::Identified;
pub use self::model::Model;
pub use self::params::Params;
pub use self::place::{Place, PlaceBuilder};
pub use self::schema::{KeySchema, KeyTenant, check_pin};
pub use self::shape::Shape;
pub use self::tenant::Tenant;
