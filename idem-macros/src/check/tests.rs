use quote::quote;
use syn::{DeriveInput, parse_quote};

use super::*;

/// First lines of the messages about an `#[idempotent]` type.
fn mistakes(input: DeriveInput) -> Vec<String> {
    let cx = Ctxt::new();
    let item = Item::read(&cx, input);
    let place = match item.body {
        Body::Enum(_) => Place::Enum,
        _ => Place::Struct,
    };
    let args = Args::parse(&cx, item.carried.clone().unwrap_or_default(), place);
    idempotent(&cx, &item, &args);
    first_lines(cx)
}

/// First lines of the messages about a type that derives `KeyField`.
fn key_field_mistakes(input: DeriveInput) -> Vec<String> {
    let cx = Ctxt::new();
    let item = Item::read(&cx, input);
    key_field(&cx, &item);
    first_lines(cx)
}

fn first_lines(cx: Ctxt) -> Vec<String> {
    match cx.check() {
        Ok(()) => Vec::new(),
        Err(all) => all
            .into_iter()
            .map(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
            .collect(),
    }
}

/// Asserts one mistake, by the beginning of its message.
#[track_caller]
fn one(mistakes: Vec<String>, beginning: &str) {
    assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
    assert!(mistakes[0].starts_with(beginning), "{mistakes:#?}");
}

#[test]
fn a_type_with_all_classes_is_accepted() {
    let found = mistakes(parse_quote! {
        #[__idempotent(action = "refund.issue", key = [tenant, case_id, refund_no],
            payload = [amount], subject = case_id, once_per = [case_id], strict)]
        struct IssueRefund {
            tenant: String,
            case_id: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            refund_no: Option<u32>,
            amount: i64,
            #[transient]
            rationale: String,
            #[basis]
            decided_by: Basis,
        }
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn all_mistakes_of_one_type_are_told_at_once() {
    let found = mistakes(parse_quote! {
        #[__idempotent(acton = "a", key = [caseid, timestamp, timestamp], payload = [seen])]
        struct IssueRefund {
            case_id: String,
            timestamp: i64,
            #[basis]
            seen: HashSet<u8>,
            tags: Option<Vec<std::collections::HashSet<String>>>,
        }
    });
    let beginnings = [
        "unknown option `acton`",
        "`IssueRefund` has no field `caseid`",
        "field `timestamp` is named twice in `key`",
        "field `seen` is in two classes, `payload = [..]` and `#[basis]`",
        "`timestamp` is usually new on each attempt",
        "`HashSet` in payload field `tags`",
    ];
    assert_eq!(found.len(), beginnings.len(), "{found:#?}");
    for (message, beginning) in found.iter().zip(beginnings) {
        assert!(message.starts_with(beginning), "{message}");
    }
}

#[test]
fn a_key_needs_an_anchor() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [])]
            struct A { a: u8 }
        }),
        "the key of `A` is empty",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a")]
            struct A { a: u8 }
        }),
        "`A` has no key",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [tenant])]
            struct A { tenant: String, a: u8 }
        }),
        "the key has no field besides `tenant`",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [org, kind], tenant = org)]
            struct A { org: String, #[serde(rename = "action")] kind: String }
        }),
        "the key has no field besides `org` and `kind`",
    );
}

#[test]
fn one_slip_in_an_option_is_one_message() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", keys = [a])]
            struct A { a: u8 }
        }),
        "unknown option `keys`",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = ["a"])]
            struct A { a: u8 }
        }),
        "expected the name of a field",
    );
}

#[test]
fn implied_members_are_not_given_by_fields_too() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [id, kind])]
            struct A { id: u8, #[serde(rename = "action")] kind: String }
        }),
        "key field `kind` is `action` on the wire, and so is the action \"a\"",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [id, tenant], tenant = org)]
            struct A { id: u8, org: String, tenant: String }
        }),
        "key field `tenant` is `tenant` on the wire, and `tenant = org` names another field",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [id, tenant], tenant = none)]
            struct A { id: u8, tenant: String }
        }),
        "key field `tenant` is `tenant` on the wire, and `tenant = none`",
    );
    // Without an action of the attribute, the field gives it.
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(key = [id, action], tenant = none)]
            struct A { id: u8, action: String }
        }),
        [""; 0]
    );
}

#[test]
fn serde_must_not_part_the_key_from_the_wire() {
    let found = mistakes(parse_quote! {
        #[__idempotent(action = "a", key = [a, b, c, d, e, f, g, h, i, j])]
        struct A {
            #[serde(skip)] a: u8,
            #[serde(skip_serializing)] b: u8,
            #[serde(skip_deserializing)] c: u8,
            #[serde(flatten)] d: u8,
            #[serde(with = "m")] e: u8,
            #[serde(serialize_with = "m")] f: u8,
            #[serde(rename(serialize = "x", deserialize = "y"))] g: u8,
            #[serde(skip_serializing_if = "Vec::is_empty")] h: Vec<u8>,
            #[serde(alias = "z")] i: u8,
            #[serde(skip_serializing_if = "std::option::Option::is_none", default)] j: Option<u8>,
        }
    });
    assert_eq!(found.len(), 9, "{found:#?}");
    for option in ["transparent", "into = \"B\"", "remote = \"B\""] {
        let option: proc_macro2::TokenStream = option.parse().unwrap();
        let found = mistakes(parse_quote! {
            #[serde(#option)]
            #[__idempotent(action = "a", key = [a])]
            struct A { a: u8 }
        });
        assert_eq!(found.len(), 1, "{found:#?}");
    }
    one(
        mistakes(parse_quote! {
            #[serde(rename_all(serialize = "camelCase"))]
            #[__idempotent(action = "a", key = [case_id, id])]
            struct A { case_id: u8, id: u8 }
        }),
        "key fields are written under one name and read under another (`case_id` as `caseId` and `case_id`)",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a])]
            struct A { a: u8, #[serde(skip)] cache: u8 }
        }),
        "`serde(skip)` keeps payload field `cache` from the other side",
    );
}

#[test]
fn strict_leaves_no_field_without_a_class() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], strict)]
            struct A { a: u8, b: u8 }
        }),
        "field `b` has no class",
    );
}

#[test]
fn fields_have_names() {
    one(
        mistakes(parse_quote!(
            #[__idempotent(key = [a])]
            struct A(u8);
        )),
        "tuple struct `A` has fields without names",
    );
    one(
        mistakes(parse_quote!(
            #[__idempotent(key = [a])]
            struct A;
        )),
        "unit struct `A` has no fields",
    );
    one(
        mistakes(parse_quote!(#[__idempotent(key = [a])] union A { a: u8 })),
        "a union cannot be idempotent",
    );
}

#[test]
fn names_that_vary_need_leave_and_leave_needs_a_reason() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a, at])]
            struct A { a: u8, #[serde(rename = "createdAt")] at: String }
        }),
        "`at`, on the wire `createdAt`, is usually new on each attempt",
    );
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(key = [a, created_at], allow = [created_at])]
            struct A { a: u8, created_at: String }
        }),
        [""; 0]
    );
    let found = mistakes(parse_quote! {
        #[__idempotent(key = [a], allow = [a, sent_at])]
        struct A { a: u8, sent_at: String }
    });
    assert_eq!(
        found,
        [
            "`a` needs no `allow`",
            "`sent_at` is not in the key, so there is nothing to allow"
        ]
    );
}

#[test]
fn a_place_is_made_of_what_stays() {
    let found = mistakes(parse_quote! {
        #[__idempotent(key = [a], once_per = [b, c])]
        struct A { a: u8, #[transient] b: u8, #[basis] c: u8 }
    });
    assert_eq!(found.len(), 2, "{found:#?}");
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a], once_per = [])]
            struct A { a: u8 }
        }),
        "`once_per` is empty",
    );
}

#[test]
fn a_member_has_one_field() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a, b])]
            struct A { a: u8, #[serde(rename = "a")] b: u8 }
        }),
        "fields `a` and `b` are both `a` on the wire",
    );
    // Key and payload are objects of their own.
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(key = [a])]
            struct A { a: u8, #[serde(rename = "a")] b: u8 }
        }),
        [""; 0]
    );
}

#[test]
fn the_tenant_is_the_same_on_a_retry() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a], tenant = org)]
            struct A { a: u8, #[transient] org: String }
        }),
        "field `org` is the tenant and `#[transient]`",
    );
}

#[test]
fn marks_stand_on_fields_that_they_are_for() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a])]
            #[transient]
            struct A { a: u8 }
        }),
        "`#[transient]` marks one field, not a whole type",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [a])]
            struct A { a: u8, #[key] b: u8 }
        }),
        "`#[key]` does not put a field",
    );
}

#[test]
fn variants_state_their_own_key() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a")]
            enum A { #[__idempotent(key = [a])] A { a: u8 }, B { b: u8 } }
        }),
        "variant `B` has no key of its own",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent]
            enum A { #[__idempotent(action = "a")] A { a: u8 } }
        }),
        "variant `A` has no key of its own",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent]
            enum A { #[__idempotent(action = "a", key = [a])] A(u8) }
        }),
        "variant `A` has fields without names",
    );
    one(
        mistakes(parse_quote!(
            #[__idempotent]
            enum A {}
        )),
        "enum `A` has no variants",
    );
}

#[test]
fn variants_agree_on_what_is_known_of_the_type() {
    one(
        mistakes(parse_quote! {
            #[__idempotent]
            enum A {
                #[__idempotent(action = "a", key = [a])] A { a: u8 },
                #[__idempotent(key = [b])] B { b: u8 },
            }
        }),
        "variant `B` has no action, but variant `A` has one",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent]
            enum A {
                #[__idempotent(action = "a", key = [a])] A { a: u8 },
                #[__idempotent(action = "b", key = [tenant, b])] B { tenant: String, b: u8 },
            }
        }),
        "variant `A` does not say where its tenant comes from",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(tenant = org)]
            enum A {
                #[__idempotent(action = "a", key = [a])] A { a: u8, org: String },
                #[__idempotent(action = "b", key = [b])] B { b: u8 },
            }
        }),
        "`B` has no field `org`",
    );
}

#[test]
fn variants_do_not_share_a_key() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "case.decide", tenant = none)]
            enum A {
                #[__idempotent(key = [id])] Approve { id: u8 },
                #[__idempotent(key = [id])] Reject { id: u8 },
            }
        }),
        "variants `Approve` and `Reject` share the action \"case.decide\"",
    );
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(tenant = none)]
            enum A {
                #[__idempotent(action = "case.approve", key = [id])] Approve { id: u8 },
                #[__idempotent(action = "case.reject", key = [id])] Reject { id: u8 },
            }
        }),
        [""; 0]
    );
}

#[test]
fn a_key_field_leaves_nothing_out_in_silence() {
    one(
        key_field_mistakes(parse_quote!(
            struct A {
                #[key]
                a: u8,
                b: u8,
                #[transient]
                c: u8,
            }
        )),
        "field `b` is neither `#[key]` nor `#[transient]`, while `a` is `#[key]`",
    );
    one(
        key_field_mistakes(parse_quote!(
            struct A {
                #[key]
                #[transient]
                a: u8,
                #[key]
                b: u8,
            }
        )),
        "field `a` is `#[key]` and `#[transient]`",
    );
    one(
        key_field_mistakes(parse_quote!(
            struct A {
                a: u8,
                created_at: u8,
            }
        )),
        "`created_at` is usually new on each attempt",
    );
    assert_eq!(
        key_field_mistakes(parse_quote!(
            struct A {
                #[key]
                a: u8,
                #[key]
                created_at: u8,
            }
        )),
        [""; 0]
    );
}

#[test]
fn a_key_field_has_an_identity() {
    for input in [
        parse_quote!(
            struct A;
        ),
        parse_quote!(
            struct A {}
        ),
        parse_quote!(
            struct A {
                #[transient]
                a: u8,
            }
        ),
        parse_quote!(
            struct A(#[transient] u8);
        ),
        parse_quote!(
            enum A {}
        ),
        parse_quote!(union A { a: u8 }),
    ] {
        assert_eq!(key_field_mistakes(input).len(), 1);
    }
}

#[test]
fn a_key_field_is_on_the_wire_as_in_the_key() {
    for (input, beginning) in [
        (
            parse_quote!(
                struct A {
                    #[serde(flatten)]
                    a: u8,
                }
            ),
            "`serde(flatten)`",
        ),
        (
            parse_quote!(
                struct A(#[serde(with = "m")] u8);
            ),
            "`serde(with)`",
        ),
        (
            parse_quote!(
                #[serde(transparent)]
                struct A {
                    a: u8,
                }
            ),
            "`serde(transparent)`",
        ),
        (
            parse_quote!(
                #[serde(into = "B")]
                struct A(u8);
            ),
            "`serde(into)`",
        ),
        (
            parse_quote!(
                #[serde(tag = "t", content = "c")]
                enum A {
                    B,
                }
            ),
            "`serde(tag)`",
        ),
        (
            parse_quote!(
                #[serde(untagged)]
                enum A {
                    B,
                }
            ),
            "`serde(untagged)`",
        ),
        (
            parse_quote!(
                enum A {
                    #[serde(skip)]
                    B,
                }
            ),
            "`serde(skip)`",
        ),
        (
            parse_quote!(
                enum A {
                    #[serde(rename = "C")]
                    B,
                    C,
                }
            ),
            "variants `B` and `C` are both",
        ),
        (
            parse_quote!(
                #[serde(rename_all(serialize = "lowercase"))]
                enum A {
                    B,
                }
            ),
            "variant `B` is written as `b` and read as `B`",
        ),
    ] {
        one(key_field_mistakes(input), beginning);
    }
    assert_eq!(
        key_field_mistakes(parse_quote!(
            #[serde(transparent, try_from = "B")]
            struct A(u8);
        )),
        [""; 0]
    );
}

#[test]
fn a_spelling_is_of_a_field_that_a_key_has() {
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a, b], tenant = none, subject = c, once_per = [d])]
            struct A {
                #[key(text)]
                #[serde(with = "text")]
                a: u128,
                #[key(set)] b: HashSet<u8>,
                #[key(display)] c: Id,
                #[key(text)] d: u128,
            }
        }),
        [""; 0]
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], tenant = none)]
            struct A { a: u8, #[key(text)] b: u128 }
        }),
        "`#[key(text)]` says how a field is written in the key, and `b` is not in it",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], tenant = org)]
            struct A { a: u8, #[key(display)] org: String }
        }),
        "`#[key(display)]` on `org`, which is the tenant",
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], tenant = none)]
            struct A { #[key(set)] #[serde(with = "text")] a: Vec<u8> }
        }),
        "`serde(with)` on key field `a`",
    );
}

#[test]
fn one_slip_in_a_key_mark_is_one_message() {
    for (mark, beginning) in [
        (quote!(#[key(txt)]), "unknown option `txt`"),
        (quote!(#[key()]), "`#[key()]` says nothing"),
        (quote!(#[key(text = true)]), "`text` takes no value"),
        (quote!(#[key("text")]), "this is no option of `#[key(..)]`"),
        (quote!(#[key(text, set)]), "a field is written in one way"),
        (quote!(#[key(text)] #[key(set)]), "`#[key]` is given twice"),
        (quote!(#[key = "text"]), "`#[key]` takes no arguments"),
        (quote!(#[key(crate = ::idem)]), "`crate` is about the whole type"),
    ] {
        one(
            key_field_mistakes(parse_quote!(struct A { #mark a: u64, #[key] b: u64 })),
            beginning,
        );
    }
    one(
        key_field_mistakes(parse_quote!(
            #[key(text)]
            struct A {
                a: u64,
            }
        )),
        "`#[key(text)]` is about one field, not about a whole type",
    );
}

#[test]
fn a_pin_is_for_one_key() {
    assert_eq!(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], tenant = none, pin = "01234567")]
            struct A<'a> { a: &'a str }
        }),
        [""; 0]
    );
    one(
        mistakes(parse_quote! {
            #[__idempotent(action = "a", key = [a], tenant = none, pin = "01234567")]
            struct A<'a, T> { a: &'a T }
        }),
        "the key of `A` depends on `T`",
    );
}

#[test]
fn a_tag_is_no_second_member() {
    one(
        mistakes(parse_quote! {
            #[__idempotent(key = [kind, a], tenant = none)]
            #[serde(tag = "kind")]
            struct A { kind: u8, a: u8 }
        }),
        "`serde(tag)` puts a second `kind` on the wire",
    );
    one(
        key_field_mistakes(parse_quote!(
            #[serde(tag = "kind")]
            struct A {
                a: u8,
            }
        )),
        "`serde(tag)` puts a member on the wire",
    );
}
