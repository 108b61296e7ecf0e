#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::KeyField for CaseId {
        const SHAPE: __idem::Shape = <String as __idem::Key<_>>::SHAPE;
        fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written {
            <String as __idem::Key<_>>::write(&self.0, __idem_w)
        }
        fn is_absent(&self) -> bool {
            <String as __idem::Key<_>>::is_absent(&self.0)
        }
    }
};
#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::KeyField for Pair {
        const SHAPE: __idem::Shape = __idem::Shape::tuple([
            <u32 as __idem::Key<_>>::SHAPE,
            <CaseId as __idem::Key<_>>::SHAPE,
        ]);
        fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written {
            __idem_w
                .array(|__idem_w| {
                    <u32 as __idem::Key<_>>::__element(&self.0, __idem_w)?;
                    <CaseId as __idem::Key<_>>::__element(&self.1, __idem_w)
                })
        }
    }
};
