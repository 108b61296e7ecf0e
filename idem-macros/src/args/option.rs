//! The options there are, where each is legal, and how each is written.

/// What an `#[idempotent(..)]` stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Struct,
    Enum,
    Variant,
}

/// One option as the messages show it.
pub(crate) struct Legal {
    pub(crate) name: &'static str,
    /// How it is written, as an example.
    pub(crate) form: &'static str,
    /// Legal on an enum as a whole.
    on_enum: bool,
    /// Legal on a variant.
    on_variant: bool,
}

impl Legal {
    pub(crate) fn is_legal(&self, place: Place) -> bool {
        match place {
            Place::Struct => true,
            Place::Enum => self.on_enum,
            Place::Variant => self.on_variant,
        }
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.name == name)
    }

    /// Names of the options that may stand at `place`.
    pub(crate) fn names(place: Place) -> impl Iterator<Item = &'static str> + Clone {
        OPTIONS
            .iter()
            .filter(move |option| option.is_legal(place))
            .map(|option| option.name)
    }
}

const OPTIONS: &[Legal] = &[
    option("action", r#"action = "refund.issue""#, true, true),
    option("key", "key = [case_id, refund_no]", false, true),
    option("payload", "payload = [amount_cents]", false, true),
    option("tenant", "tenant = org_id` or `tenant = none", true, true),
    option("subject", "subject = case_id", true, true),
    option("once_per", "once_per = [case_id]", false, true),
    option("allow", "allow = [created_at]", false, true),
    option("strict", "strict", true, false),
    option("pin", r#"pin = "00000000""#, true, false),
    option("previous", "previous = OldRefund", true, false),
    option("until", r#"until = "2027-03-01""#, true, false),
    option("crate", "crate = ::path", true, false),
];

const fn option(name: &'static str, form: &'static str, on_enum: bool, on_variant: bool) -> Legal {
    Legal {
        name,
        form,
        on_enum,
        on_variant,
    }
}
