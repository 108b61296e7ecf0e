#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl __idem::KeyField for Method {
        const SHAPE: __idem::Shape = __idem::Shape::variants([
            ("bank_transfer", __idem::Shape::scalar("unit")),
            ("card", <CardId as __idem::Key<_>>::SHAPE),
            (
                "split",
                __idem::Shape::tuple([
                    <u32 as __idem::Key<_>>::SHAPE,
                    <u32 as __idem::Key<_>>::SHAPE,
                ]),
            ),
            (
                "voucher",
                __idem::Shape::object([("code", <String as __idem::Key<_>>::SHAPE)]),
            ),
        ]);
        fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written {
            match self {
                Self::BankTransfer => __idem_w.string("bank_transfer"),
                Self::Card { 0: __idem_0, .. } => {
                    __idem_w
                        .variant(
                            "card",
                            |__idem_w| <CardId as __idem::Key<
                                _,
                            >>::write(__idem_0, __idem_w),
                        )
                }
                Self::Split { 0: __idem_0, 1: __idem_1, .. } => {
                    __idem_w
                        .variant(
                            "split",
                            |__idem_w| {
                                __idem_w
                                    .array(|__idem_w| {
                                        <u32 as __idem::Key<_>>::__element(__idem_0, __idem_w)?;
                                        <u32 as __idem::Key<_>>::__element(__idem_1, __idem_w)
                                    })
                            },
                        )
                }
                Self::Voucher { code: __idem_code, .. } => {
                    __idem_w
                        .variant(
                            "voucher",
                            |__idem_w| {
                                __idem_w
                                    .object(|__idem_w| {
                                        <String as __idem::Key<
                                            _,
                                        >>::__to(__idem_code, ",\"code\":", __idem_w)
                                    })
                            },
                        )
                }
            }
        }
    }
};
