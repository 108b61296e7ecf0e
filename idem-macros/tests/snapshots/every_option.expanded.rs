#[allow(deprecated, single_use_lifetimes)]
const _: () = {
    use ::idem_core::__private as __idem;
    #[automatically_derived]
    impl<'a, T: Clone, const N: usize> __idem::IdempotentFields for IssueRefund<'a, T, N>
    where
        T: Send,
        Option<T>: __idem::KeyField,
        [T; N]: __idem::Serialize,
    {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::new(
            ::core::option::Option::Some("refund.issue"),
            __idem::KeyTenant::Field("org"),
            [
                ("caseId", <&'a str as __idem::Key<_>>::SHAPE),
                ("refundNo", <Option<T> as __idem::Key<_>>::SHAPE),
                ("type", <Kind as __idem::Key<_>>::SHAPE),
            ],
        );
        fn tenant(&self) -> __idem::TenantSource<'_> {
            <Cow<'a, str> as __idem::TenantField>::__source(&self.org, "org")
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            <&'a str as __idem::Key<_>>::__to(&self.case_id, ",\"caseId\":", __idem_w)?;
            <Option<
                T,
            > as __idem::Key<_>>::__to(&self.refund_no, ",\"refundNo\":", __idem_w)?;
            <Kind as __idem::Key<_>>::__to(&self.r#type, ",\"type\":", __idem_w)
        }
        fn payload_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            __idem_w.__value::<[T; N]>(",\"amountCents\":", &self.amount_cents)?;
            __idem_w.__value::<Cow<'a, str>>(",\"org\":", &self.org)
        }
        fn basis_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            __idem_w.__value::<Basis>(",\"decidedBy\":", &self.decided_by)
        }
        fn subject(&self) -> __idem::SubjectText {
            <&'a str as __idem::Key<_>>::__subject(&self.case_id, "caseId")
        }
        fn once_per(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Placed {
            <&'a str as __idem::Key<_>>::__to(&self.case_id, ",\"caseId\":", __idem_w)?;
            ::core::result::Result::Ok(true)
        }
    }
    #[automatically_derived]
    impl<'a, T: Clone, const N: usize> __idem::Idempotent for IssueRefund<'a, T, N>
    where
        T: Send,
        Option<T>: __idem::KeyField,
        [T; N]: __idem::Serialize,
    {
        fn action(&self) -> &str {
            "refund.issue"
        }
    }
    impl<'a, T: Clone, const N: usize> __idem::TenantKnown<__idem::FromType>
    for IssueRefund<'a, T, N>
    where
        T: Send,
        Option<T>: __idem::KeyField,
        [T; N]: __idem::Serialize,
    {}
};
