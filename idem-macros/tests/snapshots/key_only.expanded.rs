#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::IdempotentFields for Case {
    fn tenant(&self) -> ::idem::__private::TenantSource<'_> {
        ::idem::__private::TenantSource::Call
    }
    fn key_members(
        &self,
        __idem_out: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        __idem_out.key::<_, String>("case_id", &self.case_id)
    }
    fn payload_members(
        &self,
        _: &mut ::idem::__private::Members<'_>,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        ::core::result::Result::Ok(())
    }
}
