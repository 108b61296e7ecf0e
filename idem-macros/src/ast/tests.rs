use quote::quote;
use syn::parse_quote;

use super::*;

fn item(input: DeriveInput) -> (Item, Vec<String>) {
    let cx = Ctxt::new();
    let item = Item::read(&cx, input);
    let messages = match cx.check() {
        Ok(()) => Vec::new(),
        Err(all) => all.into_iter().map(|error| error.to_string()).collect(),
    };
    (item, messages)
}

fn wires(form: &Form) -> Vec<&str> {
    form.fields.iter().map(|field| field.wire.as_str()).collect()
}

#[test]
fn wire_names_of_a_struct_follow_serde() {
    let (item, _) = item(parse_quote! {
        #[serde(deny_unknown_fields, rename_all = "camelCase", bound = "")]
        struct Refund {
            case_id: String,
            #[serde(default, rename = "no")]
            refund_no: u32,
            #[serde(rename(serialize = "out"))]
            amount: i64,
            r#type: String,
        }
    });
    let Body::Struct(form) = &item.body else {
        panic!("not a struct")
    };
    assert_eq!(wires(form), ["caseId", "no", "out", "type"]);
    assert_eq!(form.fields[2].read_as, "amount");
    assert!(form.field(&parse_quote!(r#type)).is_some());
    assert!(form.field(&parse_quote!(caseId)).is_none());
}

#[test]
fn wire_names_of_variants_and_their_fields_follow_serde() {
    let (item, _) = item(parse_quote! {
        #[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
        enum Command {
            IssueRefund { case_id: String },
            #[serde(rename_all = "UPPERCASE", rename = "Cancel")]
            CancelRefund { case_id: String },
        }
    });
    let Body::Enum(forms) = &item.body else {
        panic!("not an enum")
    };
    assert_eq!(forms[0].wire, "issue_refund");
    assert_eq!(wires(&forms[0]), ["caseId"]);
    assert_eq!(forms[1].wire, "Cancel");
    assert_eq!(wires(&forms[1]), ["CASE_ID"]);
}

#[test]
fn serde_options_are_found_whatever_stands_beside_them() {
    let (item, _) = item(parse_quote! {
        struct Refund {
            #[serde(default = "one", with = "a::b", bound(serialize = "T: X"), skip_serializing_if = "Vec::is_empty")]
            #[serde(flatten, alias = "b")]
            a: String,
        }
    });
    let Body::Struct(form) = &item.body else {
        panic!("not a struct")
    };
    let kinds: Vec<_> = form.fields[0].serde.facts.iter().map(|it| it.kind.clone()).collect();
    assert_eq!(
        kinds,
        [
            FactKind::With,
            FactKind::SkipSerializingIf("Vec::is_empty".to_owned()),
            FactKind::Flatten,
            FactKind::Alias,
        ]
    );
}

#[test]
fn marks_are_bare_and_given_once() {
    let (_, messages) = item(parse_quote! {
        struct Refund {
            #[transient]
            #[transient]
            a: String,
            #[basis(model)]
            b: String,
            #[key = 1]
            c: String,
        }
    });
    let first: Vec<_> = messages.iter().filter_map(|it| it.lines().next()).collect();
    assert_eq!(
        first,
        [
            "`#[transient]` is given twice",
            "`#[basis]` takes no arguments",
            "`#[key]` takes no arguments",
        ]
    );
}

#[test]
fn carried_arguments_are_found() {
    let (item, _) = item(parse_quote! {
        #[__idempotent(action = "a")]
        enum Command {
            #[__idempotent(key = [b])]
            One { b: u8 },
            Two,
        }
    });
    assert_eq!(
        item.carried.map(|it| it.to_string()),
        Some(quote!(action = "a").to_string())
    );
    let Body::Enum(forms) = item.body else {
        panic!("not an enum")
    };
    assert!(forms[0].carried.is_some());
    assert!(forms[1].carried.is_none());
}

#[test]
fn names_are_ordered_by_utf16_units() {
    let (item, _) = item(parse_quote! {
        struct Odd {
            #[serde(rename = "\u{e000}")]
            a: u8,
            #[serde(rename = "\u{10000}")]
            b: u8,
        }
    });
    let Body::Struct(form) = &item.body else {
        panic!("not a struct")
    };
    assert!(by_wire_name(&form.fields[1], &form.fields[0]).is_lt());
}
