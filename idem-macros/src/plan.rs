//! What is left once everything was checked: the fields of each class, in the order in
//! which they are written.

use syn::{LitStr, Type};

use crate::ast::{Field, Form};

/// One struct or one variant of an `#[idempotent]` type.
pub(crate) struct Plan<'a> {
    pub(crate) form: &'a Form,
    pub(crate) action: Option<LitStr>,
    pub(crate) tenant: TenantPlan<'a>,
    /// Each class in the order of wire names.
    pub(crate) key: Vec<&'a Field>,
    pub(crate) payload: Vec<&'a Field>,
    pub(crate) basis: Vec<&'a Field>,
    pub(crate) once_per: Option<Vec<&'a Field>>,
    pub(crate) subject: Option<&'a Field>,
}

/// The definition that a deploy changes.
pub(crate) struct Previous {
    pub(crate) ty: Type,
    /// When its time ends, in milliseconds since 1970.
    pub(crate) millis: i64,
}

/// Where the tenant comes from.
#[derive(Clone, Copy)]
pub(crate) enum TenantPlan<'a> {
    Field(&'a Field),
    /// `tenant = none`.
    None,
    /// `.tenant(..)` on the call.
    Call,
}

impl Plan<'_> {
    pub(crate) fn is_tenant(&self, field: &Field) -> bool {
        matches!(self.tenant, TenantPlan::Field(tenant) if std::ptr::eq(tenant, field))
    }
}
