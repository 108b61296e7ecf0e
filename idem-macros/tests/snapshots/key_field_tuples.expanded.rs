#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::KeyField for CaseId {
    fn write(
        &self,
        __idem_out: &mut ::idem::__private::CanonicalWriter,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        <String as ::idem::__private::KeyField<_>>::write(&self.0, __idem_out)
    }
    fn is_absent(&self) -> bool {
        <String as ::idem::__private::KeyField<_>>::is_absent(&self.0)
    }
}
#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::KeyField for Pair {
    fn write(
        &self,
        __idem_out: &mut ::idem::__private::CanonicalWriter,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        __idem_out
            .array(|__idem_out| {
                __idem_out.key::<_, u32>(&self.0)?;
                __idem_out.key::<_, CaseId>(&self.1)
            })
    }
}
