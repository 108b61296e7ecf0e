#[automatically_derived]
#[allow(deprecated)]
impl ::idem::__private::KeyField for Method {
    fn write(
        &self,
        __idem_out: &mut ::idem::__private::CanonicalWriter,
    ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
        struct __IdemVariant<F>(F);
        impl<F> ::idem::__private::KeyField for __IdemVariant<F>
        where
            F: ::core::ops::Fn(
                &mut ::idem::__private::CanonicalWriter,
            ) -> ::core::result::Result<(), ::idem::__private::CanonicalError>,
        {
            fn write(
                &self,
                __idem_out: &mut ::idem::__private::CanonicalWriter,
            ) -> ::core::result::Result<(), ::idem::__private::CanonicalError> {
                (self.0)(__idem_out)
            }
        }
        match self {
            Self::BankTransfer => __idem_out.string("bank_transfer"),
            Self::Card { 0: __idem_0, .. } => {
                __idem_out
                    .object(|__idem_out| {
                        __idem_out
                            .key(
                                "card",
                                &__IdemVariant(|
                                    __idem_out: &mut ::idem::__private::CanonicalWriter|
                                {
                                    <CardId as ::idem::__private::KeyField<
                                        _,
                                    >>::write(__idem_0, __idem_out)
                                }),
                            )
                    })
            }
            Self::Split { 0: __idem_0, 1: __idem_1, .. } => {
                __idem_out
                    .object(|__idem_out| {
                        __idem_out
                            .key(
                                "split",
                                &__IdemVariant(|
                                    __idem_out: &mut ::idem::__private::CanonicalWriter|
                                {
                                    __idem_out
                                        .array(|__idem_out| {
                                            __idem_out.key::<_, u32>(__idem_0)?;
                                            __idem_out.key::<_, u32>(__idem_1)
                                        })
                                }),
                            )
                    })
            }
            Self::Voucher { code: __idem_code, .. } => {
                __idem_out
                    .object(|__idem_out| {
                        __idem_out
                            .key(
                                "voucher",
                                &__IdemVariant(|
                                    __idem_out: &mut ::idem::__private::CanonicalWriter|
                                {
                                    __idem_out
                                        .object(|__idem_out| {
                                            __idem_out.key::<_, String>("code", __idem_code)
                                        })
                                }),
                            )
                    })
            }
        }
    }
}
