#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::IdempotentFields for IssueRefund {
    fn tenant(&self) -> ::idem::__private::TenantSource<'_> {
        ::idem::__private::TenantSource::Field {
            path: "tenant",
            text: <String as ::idem::__private::TenantField>::tenant_text(&self.tenant),
        }
    }
    fn key_members(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        __idem_out.key::<_, String>("case_id", &self.case_id)?;
        __idem_out.key::<_, u32>("refund_no", &self.refund_no)?;
        __idem_out.tenant::<_, String>("tenant", &self.tenant)
    }
    fn payload_members(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        __idem_out.value::<i64>("amount_cents", &self.amount_cents)
    }
    fn subject(
        &self,
    ) -> ::core::result::Result<
        ::core::option::Option<::idem::__private::String>,
        ::idem::__private::CanonicalError,
    > {
        ::idem::__private::subject_text::<_, String>("case_id", &self.case_id)
    }
}
#[automatically_derived]
impl ::idem::__private::Idempotent for IssueRefund {
    fn action(&self) -> &str {
        "refund.issue"
    }
}
impl ::idem::__private::TenantKnown<::idem::__private::FromType> for IssueRefund {}
