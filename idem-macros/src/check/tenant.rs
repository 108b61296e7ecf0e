//! Where the tenant comes from.

use super::names::{self, Named};
use crate::args::{Args, Tenant};
use crate::ast::Form;
use crate::ctxt::Ctxt;
use crate::plan::TenantPlan;
use crate::symbol::TENANT;

/// `tenant = ..`, else the key field that is `tenant` on the wire, else the call.
pub(super) fn source<'a>(
    cx: &Ctxt,
    form: &'a Form,
    given: Option<&Tenant>,
    args: &Args,
    key: &[Named<'a>],
) -> TenantPlan<'a> {
    match given {
        Some(Tenant::None) => TenantPlan::None,
        Some(Tenant::Field(name)) => match names::one(cx, form, name) {
            Some(field) => {
                // The tenant is part of what a record is found by; a retry that may have
                // another one would not find it.
                for (mark, span) in [("transient", field.marks.transient), ("basis", field.marks.basis)] {
                    if let Some(span) = span {
                        cx.error_at(
                            span,
                            format!(
                                "field `{name}` is the tenant and `#[{mark}]`, yet a retry must have the same tenant\nhelp: take the mark off, and put the field into `key = [..]`"
                            ),
                        );
                    }
                }
                TenantPlan::Field(field)
            }
            None => TenantPlan::Call,
        },
        None if args.mentions("tenant") => TenantPlan::Call,
        None => key
            .iter()
            .find(|it| it.field.wire == TENANT)
            .map_or(TenantPlan::Call, |it| TenantPlan::Field(it.field)),
    }
}

/// A key member named `tenant` that is not the tenant would tell whoever reads the key
/// something else than the record says.
pub(super) fn one_source_only(cx: &Ctxt, key: &[Named<'_>], tenant: &TenantPlan<'_>) {
    let (other, says) = match tenant {
        TenantPlan::None => ("none".to_owned(), "says that there is none"),
        TenantPlan::Field(field) => (field.name(), "names another field"),
        // No name was given, or it was not found, which has its message.
        TenantPlan::Call => return,
    };
    for it in key.iter().filter(|it| it.field.wire == TENANT) {
        if matches!(tenant, TenantPlan::Field(field) if std::ptr::eq(*field, it.field)) {
            continue;
        }
        cx.error(
            &it.ident,
            format!(
                "key field `{}` is `{TENANT}` on the wire, and `tenant = {other}` {says}\nhelp: leave out `tenant = {other}` to take the tenant from `{}`, or rename that field with `#[serde(rename = \"..\")]`",
                it.field.name(),
                it.field.name(),
            ),
        );
    }
}
