#[automatically_derived]
#[allow(deprecated)]
impl<'a, T: Clone, const N: usize> ::idem_core::__private::IdempotentFields
for IssueRefund<'a, T, N>
where
    T: Send,
    Option<T>: ::idem_core::__private::KeyField,
    [T; N]: ::idem_core::__private::Serialize,
{
    fn tenant(&self) -> ::idem_core::__private::TenantSource<'_> {
        ::idem_core::__private::TenantSource::Field {
            path: "org",
            text: <Cow<
                'a,
                str,
            > as ::idem_core::__private::TenantField>::tenant_text(&self.org),
        }
    }
    fn key_members(
        &self,
        __idem_out: &mut ::idem_core::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem_core::__private::CanonicalError> {
        __idem_out.key::<_, &'a str>("caseId", &self.case_id)?;
        __idem_out.key::<_, Option<T>>("refundNo", &self.refund_no)?;
        __idem_out.key::<_, Kind>("type", &self.r#type)
    }
    fn payload_members(
        &self,
        __idem_out: &mut ::idem_core::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem_core::__private::CanonicalError> {
        __idem_out.value::<[T; N]>("amountCents", &self.amount_cents)?;
        __idem_out.value::<Cow<'a, str>>("org", &self.org)
    }
    fn basis_members(
        &self,
        __idem_out: &mut ::idem_core::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem_core::__private::CanonicalError> {
        __idem_out.value::<Basis>("decidedBy", &self.decided_by)
    }
    fn subject(
        &self,
    ) -> ::core::result::Result<
        ::core::option::Option<::idem_core::__private::String>,
        ::idem_core::__private::CanonicalError,
    > {
        ::idem_core::__private::subject_text::<_, &'a str>("caseId", &self.case_id)
    }
    fn once_per(
        &self,
        __idem_out: &mut ::idem_core::__private::Members<'_>,
    ) -> ::core::result::Result<bool, ::idem_core::__private::CanonicalError> {
        __idem_out.key::<_, &'a str>("caseId", &self.case_id)?;
        ::core::result::Result::Ok(true)
    }
}
#[automatically_derived]
#[allow(deprecated)]
impl<'a, T: Clone, const N: usize> ::idem_core::__private::Idempotent
for IssueRefund<'a, T, N>
where
    T: Send,
    Option<T>: ::idem_core::__private::KeyField,
    [T; N]: ::idem_core::__private::Serialize,
{
    fn action(&self) -> &str {
        "refund.issue"
    }
}
#[allow(deprecated)]
impl<
    'a,
    T: Clone,
    const N: usize,
> ::idem_core::__private::TenantKnown<::idem_core::__private::FromType>
for IssueRefund<'a, T, N>
where
    T: Send,
    Option<T>: ::idem_core::__private::KeyField,
    [T; N]: ::idem_core::__private::Serialize,
{}
