use quote::quote;

use super::*;

fn parse(tokens: TokenStream, place: Place) -> (Args, Vec<String>) {
    let cx = Ctxt::new();
    let args = Args::parse(&cx, tokens, place);
    let messages = match cx.check() {
        Ok(()) => Vec::new(),
        Err(all) => all
            .into_iter()
            .map(|error| error.to_string().lines().next().unwrap_or("").to_owned())
            .collect(),
    };
    (args, messages)
}

fn messages(tokens: TokenStream) -> Vec<String> {
    parse(tokens, Place::Struct).1
}

#[test]
fn every_option_is_read() {
    let (args, messages) = parse(
        quote!(
            action = "refund.issue",
            key = [tenant, case_id, r#type],
            payload = [amount],
            tenant = tenant,
            subject = case_id,
            once_per = [case_id],
            allow = [created_at],
            strict,
            pin = "0a1b2c3d",
            previous = old::Refund<'a>,
            until = "2027-03-01",
            crate = ::idem_core,
        ),
        Place::Struct,
    );
    assert_eq!(messages, [""; 0]);
    assert_eq!(args.action.map(|it| it.value()).as_deref(), Some("refund.issue"));
    assert_eq!(args.key.map(|it| it.names.len()), Some(3));
    assert_eq!(args.payload.map(|it| it.names.len()), Some(1));
    assert!(matches!(args.tenant, Some(Tenant::Field(field)) if field == "tenant"));
    assert!(args.subject.is_some_and(|field| field == "case_id"));
    assert_eq!(args.once_per.map(|it| it.names.len()), Some(1));
    assert_eq!(args.allow.map(|it| it.names.len()), Some(1));
    assert!(args.strict.is_some());
    assert_eq!(args.pin.map(|it| it.value()).as_deref(), Some("0a1b2c3d"));
    assert!(args.previous.is_some());
    assert_eq!(args.until.map(|it| it.value()).as_deref(), Some("2027-03-01"));
    assert!(args.root.is_some());
}

#[test]
fn none_is_a_word_and_raw_none_a_field() {
    let (args, _) = parse(quote!(tenant = none), Place::Struct);
    assert!(matches!(args.tenant, Some(Tenant::None)));
    let (args, _) = parse(quote!(tenant = r#none), Place::Struct);
    assert!(matches!(args.tenant, Some(Tenant::Field(_))));
}

#[test]
fn every_mistake_is_told_and_the_rest_is_still_read() {
    let (args, messages) = parse(
        quote!(
            actoin = "a",
            key = case_id,
            strict = true,
            subject = 7,
            allow,
            tenant = t
        ),
        Place::Struct,
    );
    assert_eq!(
        messages,
        [
            "unknown option `actoin`",
            "`case_id` is not a value of `key`",
            "`strict` takes no value",
            "`7` is not a value of `subject`",
            "`allow` needs a value",
        ]
    );
    assert!(matches!(args.tenant, Some(Tenant::Field(_))));
    assert!(args.mentions("action") && args.mentions("key"));
}

#[test]
fn an_option_may_be_given_once() {
    assert_eq!(
        messages(quote!(key = [a], key = [b], strict, strict)),
        ["option `key` is given twice", "option `strict` is given twice"]
    );
}

#[test]
fn a_missing_comma_hides_nothing() {
    let (args, messages) = parse(quote!(action = "a" key = [b]), Place::Struct);
    assert_eq!(messages, ["expected `,` between two options"]);
    assert!(args.key.is_some());
}

#[test]
fn names_are_bare_identifiers() {
    assert_eq!(
        messages(quote!(key = ["case_id", a.b, 7, c])),
        [
            "expected the name of a field, found a string",
            "expected `,` between two fields of `key`",
            "expected the name of a field",
        ]
    );
}

#[test]
fn the_action_is_a_string_with_something_in_it() {
    assert_eq!(messages(quote!(action = "")), ["the action is empty"]);
    assert_eq!(
        messages(quote!(action = Refund)),
        ["`Refund` is not a value of `action`"]
    );
}

#[test]
fn a_pin_is_eight_digits() {
    for pin in ["", "0a1b2c3", "0a1b2c3d4", "0A1B2C3D", "0a1b2c3g", "0x1b2c3d"] {
        assert_eq!(
            messages(quote!(pin = #pin)),
            [format!("{pin:?} is not a pin, which has 8 of the digits `0-9a-f`")]
        );
    }
    assert_eq!(messages(quote!(pin = 12345678)), ["`12345678` is not a value of `pin`"]);
}

#[test]
fn options_have_their_place() {
    let (_, messages) = parse(quote!(key = [a], action = "a"), Place::Enum);
    assert_eq!(messages, ["`key` belongs to one variant, not to the whole enum"]);
    let (_, messages) = parse(quote!(key = [a], strict, crate = ::x), Place::Variant);
    assert_eq!(
        messages,
        [
            "`strict` belongs to the whole enum, not to one variant",
            "`crate` belongs to the whole enum, not to one variant",
        ]
    );
}

#[test]
fn no_tokens_make_it_panic_or_hang() {
    let parts = [
        "key", "=", "[", "]", "(a)", "[a b]", ",", "strict", "tenant", "none", "\"a\"", "1", "::", "crate", "#",
    ];
    for a in parts {
        for b in parts {
            for c in parts {
                let text = format!("{a} {b} {c} key");
                if let Ok(tokens) = text.parse() {
                    messages(tokens);
                }
            }
        }
    }
}
