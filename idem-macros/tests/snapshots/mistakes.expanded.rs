::core::compile_error! {
    "`IssueRefund` has no field `case`\nhelp: did you mean `case_id`?"
}
#[automatically_derived]
impl<'a, T: Clone> ::idem::__private::IdempotentFields for IssueRefund<'a, T> {
    fn tenant(&self) -> ::idem::__private::TenantSource<'_> {
        ::core::unreachable!()
    }
    fn key_members(
        &self,
        _: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        ::core::unreachable!()
    }
    fn payload_members(
        &self,
        _: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        ::core::unreachable!()
    }
}
#[automatically_derived]
impl<'a, T: Clone> ::idem::__private::Idempotent for IssueRefund<'a, T> {
    fn action(&self) -> &str {
        ::core::unreachable!()
    }
}
#[automatically_derived]
impl<'a, T: Clone> ::idem::__private::TenantKnown<::idem::__private::FromType>
for IssueRefund<'a, T> {}
