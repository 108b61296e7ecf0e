#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::IdempotentFields for Command {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::any_of([
            __idem::KeySchema::new(
                ::core::option::Option::Some("refund.issue"),
                __idem::KeyTenant::Field("org"),
                [
                    ("caseId", <String as __idem::Key<_>>::SHAPE),
                    ("org", __idem::Shape::text()),
                ],
            ),
            __idem::KeySchema::new(
                ::core::option::Option::Some("refund.cancel"),
                __idem::KeyTenant::Field("org"),
                [
                    ("org", __idem::Shape::text()),
                    ("refundId", <u64 as __idem::Key<_>>::SHAPE),
                ],
            ),
        ]);
        fn tenant(&self) -> __idem::TenantSource<'_> {
            match self {
                Self::Issue { org: __idem_org, .. } => {
                    <String as __idem::TenantField>::__source(__idem_org, "org")
                }
                Self::Cancel { org: __idem_org, .. } => {
                    <String as __idem::TenantField>::__source(__idem_org, "org")
                }
            }
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            match self {
                Self::Issue { case_id: __idem_case_id, org: __idem_org, .. } => {
                    <String as __idem::Key<
                        _,
                    >>::__to(__idem_case_id, ",\"caseId\":", __idem_w)?;
                    <String as __idem::TenantField>::__to(
                        __idem_org,
                        ",\"org\":",
                        __idem_w,
                    )
                }
                Self::Cancel { org: __idem_org, refund_id: __idem_refund_id, .. } => {
                    <String as __idem::TenantField>::__to(
                        __idem_org,
                        ",\"org\":",
                        __idem_w,
                    )?;
                    <u64 as __idem::Key<
                        _,
                    >>::__to(__idem_refund_id, ",\"refundId\":", __idem_w)
                }
            }
        }
        fn payload_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            match self {
                Self::Issue { amount_cents: __idem_amount_cents, .. } => {
                    __idem_w.__value::<i64>(",\"amountCents\":", __idem_amount_cents)
                }
                Self::Cancel { .. } => ::core::result::Result::Ok(()),
            }
        }
        fn subject(&self) -> __idem::SubjectText {
            match self {
                Self::Issue { case_id: __idem_case_id, .. } => {
                    <String as __idem::Key<_>>::__subject(__idem_case_id, "caseId")
                }
                Self::Cancel { .. } => {
                    ::core::result::Result::Ok(::core::option::Option::None)
                }
            }
        }
        fn once_per(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Placed {
            match self {
                Self::Issue { .. } => ::core::result::Result::Ok(false),
                Self::Cancel { refund_id: __idem_refund_id, .. } => {
                    <u64 as __idem::Key<
                        _,
                    >>::__to(__idem_refund_id, ",\"refundId\":", __idem_w)?;
                    ::core::result::Result::Ok(true)
                }
            }
        }
    }
    #[automatically_derived]
    impl __idem::Idempotent for Command {
        fn action(&self) -> &str {
            match self {
                Self::Issue { .. } => "refund.issue",
                Self::Cancel { .. } => "refund.cancel",
            }
        }
    }
    impl __idem::TenantKnown<__idem::FromType> for Command {}
};
