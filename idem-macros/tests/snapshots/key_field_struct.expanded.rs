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
        fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written {
            __idem_w
                .object(|__idem_w| {
                    <Option<
                        u32,
                    > as __idem::Key<_>>::__to(&self.quantity, ",\"qty\":", __idem_w)?;
                    <T as __idem::Key<_>>::__to(&self.sku, ",\"sku\":", __idem_w)
                })
        }
    }
};
