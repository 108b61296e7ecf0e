#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::IdempotentFields for Command {
    fn tenant(&self) -> ::idem::__private::TenantSource<'_> {
        match self {
            Self::Issue { org: __idem_org, .. } => {
                ::idem::__private::TenantSource::Field {
                    path: "org",
                    text: <String as ::idem::__private::TenantField>::tenant_text(
                        __idem_org,
                    ),
                }
            }
            Self::Cancel { org: __idem_org, .. } => {
                ::idem::__private::TenantSource::Field {
                    path: "org",
                    text: <String as ::idem::__private::TenantField>::tenant_text(
                        __idem_org,
                    ),
                }
            }
        }
    }
    fn key_members(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        match self {
            Self::Issue { case_id: __idem_case_id, org: __idem_org, .. } => {
                __idem_out.key::<_, String>("caseId", __idem_case_id)?;
                __idem_out.tenant::<_, String>("org", __idem_org)
            }
            Self::Cancel { org: __idem_org, refund_id: __idem_refund_id, .. } => {
                __idem_out.tenant::<_, String>("org", __idem_org)?;
                __idem_out.key::<_, u64>("refundId", __idem_refund_id)
            }
        }
    }
    fn payload_members(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        match self {
            Self::Issue { amount_cents: __idem_amount_cents, .. } => {
                __idem_out.value::<i64>("amountCents", __idem_amount_cents)
            }
            Self::Cancel { .. } => ::core::result::Result::Ok(()),
        }
    }
    fn subject(
        &self,
    ) -> ::core::result::Result<
        ::core::option::Option<::idem::__private::String>,
        ::idem::__private::CanonicalError,
    > {
        match self {
            Self::Issue { case_id: __idem_case_id, .. } => {
                ::idem::__private::subject_text::<_, String>("caseId", __idem_case_id)
            }
            Self::Cancel { .. } => {
                ::core::result::Result::Ok(::core::option::Option::None)
            }
        }
    }
    fn once_per(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<bool, ::idem::__private::CanonicalError> {
        match self {
            Self::Issue { .. } => ::core::result::Result::Ok(false),
            Self::Cancel { refund_id: __idem_refund_id, .. } => {
                __idem_out.key::<_, u64>("refundId", __idem_refund_id)?;
                ::core::result::Result::Ok(true)
            }
        }
    }
}
#[automatically_derived]
impl ::idem::__private::Idempotent for Command {
    fn action(&self) -> &str {
        match self {
            Self::Issue { .. } => "refund.issue",
            Self::Cancel { .. } => "refund.cancel",
        }
    }
}
impl ::idem::__private::TenantKnown<::idem::__private::FromType> for Command {}
