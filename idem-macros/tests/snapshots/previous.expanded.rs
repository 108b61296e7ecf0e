#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::IdempotentFields for Refund {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::new(
            ::core::option::Option::Some("refund.issue"),
            __idem::KeyTenant::None,
            [
                ("case_id", <String as __idem::Key<_>>::SHAPE),
                ("part", <u8 as __idem::Key<_>>::SHAPE),
            ],
        );
        fn tenant(&self) -> __idem::TenantSource<'_> {
            __idem::TenantSource::None
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            <String as __idem::Key<_>>::__to(&self.case_id, ",\"case_id\":", __idem_w)?;
            <u8 as __idem::Key<_>>::__to(&self.part, ",\"part\":", __idem_w)
        }
        fn payload_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            __idem_w.__value::<i64>(",\"amount_cents\":", &self.amount_cents)
        }
    }
    #[automatically_derived]
    impl __idem::Idempotent for Refund {
        fn action(&self) -> &str {
            "refund.issue"
        }
        const PREVIOUS_UNTIL: ::core::option::Option<__idem::Timestamp> = ::core::option::Option::Some(
            __idem::Timestamp::from_millis(1803859200000i64),
        );
        fn previous(
            &self,
            __idem_tenant: ::core::option::Option<&__idem::Tenant>,
        ) -> __idem::PreviousKey {
            __idem::previous::<
                Self,
                old::Refund,
            >(&<old::Refund as ::core::convert::From<&Self>>::from(self), __idem_tenant)
        }
    }
    impl __idem::TenantKnown<__idem::FromType> for Refund {}
};
