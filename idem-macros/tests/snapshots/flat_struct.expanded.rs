#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::IdempotentFields for IssueRefund {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::new(
            ::core::option::Option::Some("refund.issue"),
            __idem::KeyTenant::Field("tenant"),
            [
                ("case_id", <String as __idem::Key<_>>::SHAPE),
                ("refund_no", <u32 as __idem::Key<_>>::SHAPE),
                ("tenant", __idem::Shape::text()),
            ],
        );
        fn tenant(&self) -> __idem::TenantSource<'_> {
            <String as __idem::TenantField>::__source(&self.tenant, "tenant")
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            <String as __idem::Key<_>>::__to(&self.case_id, ",\"case_id\":", __idem_w)?;
            <u32 as __idem::Key<_>>::__to(&self.refund_no, ",\"refund_no\":", __idem_w)?;
            <String as __idem::TenantField>::__to(&self.tenant, ",\"tenant\":", __idem_w)
        }
        fn payload_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            __idem_w.__value::<i64>(",\"amount_cents\":", &self.amount_cents)
        }
        fn subject(&self) -> __idem::SubjectText {
            <String as __idem::Key<_>>::__subject(&self.case_id, "case_id")
        }
    }
    #[automatically_derived]
    impl __idem::Idempotent for IssueRefund {
        fn action(&self) -> &str {
            "refund.issue"
        }
    }
    impl __idem::TenantKnown<__idem::FromType> for IssueRefund {}
};
