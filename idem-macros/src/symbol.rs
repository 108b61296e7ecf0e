//! Names that the user writes or that expansions use.

/// The attribute, which variants of an enum carry as well.
pub(crate) const IDEMPOTENT: &str = "idempotent";
/// Carries the attribute's arguments from the attribute to the hidden derive.
pub(crate) const CARRIER: &str = "__idempotent";
/// The hidden derive.
pub(crate) const HIDDEN_DERIVE: &str = "__IdempotentFields";

pub(crate) const TRANSIENT: &str = "transient";
pub(crate) const BASIS: &str = "basis";
pub(crate) const KEY: &str = "key";
pub(crate) const SERDE: &str = "serde";

/// Wire names that the key may have without any field giving them.
pub(crate) const ACTION: &str = "action";
pub(crate) const TENANT: &str = "tenant";

/// Names whose values are new on each attempt, in folded form (no `_`, lower case): a key
/// with such a field makes each retry another effect.
pub(crate) const PER_ATTEMPT: &[&str] = &[
    "timestamp",
    "createdat",
    "updatedat",
    "sentat",
    "now",
    "traceid",
    "spanid",
    "attempt",
    "retrycount",
    "rationale",
    "reasoning",
];
