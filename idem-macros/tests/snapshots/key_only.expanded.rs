#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::IdempotentFields for Case {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::new(
            ::core::option::Option::None,
            __idem::KeyTenant::Call,
            [("case_id", <String as __idem::Key<_>>::SHAPE)],
        );
        fn tenant(&self) -> __idem::TenantSource<'_> {
            __idem::TenantSource::Call
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            <String as __idem::Key<_>>::__to(&self.case_id, ",\"case_id\":", __idem_w)
        }
        fn payload_members(&self, _: &mut __idem::Out<'_>) -> __idem::Written {
            ::core::result::Result::Ok(())
        }
    }
};
