#[automatically_derived]
#[allow(deprecated)]
impl<T> ::idem::__private::KeyField for Line<T>
where
    T: ::idem::__private::KeyField,
{
    fn write(
        &self,
        __idem_out: &mut ::idem::__private::CanonicalWriter,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        __idem_out
            .object(|__idem_out| {
                __idem_out.key::<_, Option<u32>>("qty", &self.quantity)?;
                __idem_out.key::<_, T>("sku", &self.sku)
            })
    }
}
