#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl<T> __idem::KeyField for Line<T>
    where
        T: __idem::KeyField,
    {
        const SHAPE: __idem::Shape = __idem::Shape::object([
            ("qty", <Option<u32> as __idem::Key<_>>::SHAPE),
            ("sku", <T as __idem::Key<_>>::SHAPE),
        ]);
        fn write(&self, __idem_out: &mut __idem::CanonicalWriter) -> __idem::Written {
            __idem_out
                .object(|__idem_out| {
                    <Option<
                        u32,
                    > as __idem::Key<_>>::__member(&self.quantity, "qty", __idem_out)?;
                    <T as __idem::Key<_>>::__member(&self.sku, "sku", __idem_out)
                })
        }
    }
};
