#[allow(deprecated, single_use_lifetimes)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl<'a> __idem::IdempotentFields for MintToken<'a> {
        const KEY_SCHEMA: __idem::KeySchema = __idem::KeySchema::new(
            ::core::option::Option::Some("token.mint"),
            __idem::KeyTenant::None,
            [
                (
                    "owner",
                    <__idem::AsDisplay<'_, &'a ForeignId> as __idem::Key<_>>::SHAPE,
                ),
                ("serial", <__idem::AsText<'_, u128> as __idem::Key<_>>::SHAPE),
                ("tags", <__idem::AsSet<'_, HashSet<String>> as __idem::Key<_>>::SHAPE),
            ],
        );
        fn tenant(&self) -> __idem::TenantSource<'_> {
            __idem::TenantSource::None
        }
        fn key_members(&self, __idem_w: &mut __idem::Out<'_>) -> __idem::Written {
            <__idem::AsDisplay<
                '_,
                &'a ForeignId,
            > as __idem::Key<
                _,
            >>::__to(&__idem::AsDisplay(&self.owner), ",\"owner\":", __idem_w)?;
            <__idem::AsText<
                '_,
                u128,
            > as __idem::Key<
                _,
            >>::__to(&__idem::AsText(&self.serial), ",\"serial\":", __idem_w)?;
            <__idem::AsSet<
                '_,
                HashSet<String>,
            > as __idem::Key<
                _,
            >>::__to(&__idem::AsSet(&self.tags), ",\"tags\":", __idem_w)
        }
        fn payload_members(&self, _: &mut __idem::Out<'_>) -> __idem::Written {
            ::core::result::Result::Ok(())
        }
        fn subject(&self) -> __idem::SubjectText {
            <__idem::AsDisplay<
                '_,
                &'a ForeignId,
            > as __idem::Key<_>>::__subject(&__idem::AsDisplay(&self.owner), "owner")
        }
    }
    #[automatically_derived]
    impl<'a> __idem::Idempotent for MintToken<'a> {
        fn action(&self) -> &str {
            "token.mint"
        }
    }
    impl<'a> __idem::TenantKnown<__idem::FromType> for MintToken<'a> {}
    const _: () = __idem::check_pin(
        <MintToken<'static> as __idem::IdempotentFields>::KEY_SCHEMA,
        "0a1b2c3d",
    );
};
#[allow(deprecated)]
const _: () = {
    use ::idem::__private as __idem;
    #[automatically_derived]
    impl<T> __idem::KeyField for Tree<T>
    where
        T: __idem::KeyField,
        T: __idem::KeyText,
    {
        const SHAPE: __idem::Shape = __idem::Shape::object([
            ("branches", <Vec<__idem::Recursive> as __idem::Key<_>>::SHAPE),
            ("serial", <__idem::AsText<'_, T> as __idem::Key<_>>::SHAPE),
        ]);
        fn write(&self, __idem_w: &mut __idem::CanonicalWriter) -> __idem::Written {
            __idem_w
                .object(|__idem_w| {
                    <Vec<
                        Tree<T>,
                    > as __idem::Key<
                        _,
                    >>::__to(&self.branches, ",\"branches\":", __idem_w)?;
                    <__idem::AsText<
                        '_,
                        T,
                    > as __idem::Key<
                        _,
                    >>::__to(&__idem::AsText(&self.serial), ",\"serial\":", __idem_w)
                })
        }
    }
};
