//! Keys through the attribute and the derive, held against serde and the reference canonicaliser.

use std::collections::{BTreeMap, BTreeSet};

use idem::{Digest, IdempotencyKey, KeyField, idempotent};
use proptest::prelude::*;
use serde::Serialize;

#[derive(Clone, Debug, Serialize, KeyField)]
#[serde(rename_all = "camelCase")]
struct Line {
    sku_code: String,
    quantity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lot: Option<u16>,
}

#[derive(Clone, Debug, Serialize, KeyField)]
#[serde(rename_all = "snake_case")]
enum Channel {
    InStore,
    Web(String),
    Agent { run: u64, tags: BTreeSet<String> },
}

/// Every field is key, so that serde's form of it and an `action` is the preimage.
#[idempotent(
    action = "order.place",
    key = [tenant, order, count, express, lines, channel, labels, range]
)]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceOrder {
    tenant: String,
    // In UTF-16 the emoji comes before U+FB33, in UTF-8 after it.
    #[serde(rename = "\u{FB33}")]
    order: String,
    #[serde(rename = "\u{1F600}")]
    count: i32,
    express: bool,
    lines: Vec<Line>,
    channel: Channel,
    labels: BTreeMap<String, String>,
    range: (u8, char),
}

#[test]
fn b01_a_type_with_renamed_fields_is_sorted_by_utf16_units() {
    let order = PlaceOrder {
        tenant: "acme".into(),
        order: "O-1".into(),
        count: -3,
        express: true,
        lines: vec![],
        channel: Channel::InStore,
        labels: BTreeMap::from([("\u{FB33}".into(), "b".into()), ("\u{1F600}".into(), "a".into())]),
        range: (1, 'z'),
    };
    let preimage = String::from_utf8(idem::derive(&order, None).unwrap().preimage).unwrap();
    let expected = "{\"action\":\"order.place\",\"channel\":\"in_store\",\"express\":true,\
        \"labels\":{\"\u{1F600}\":\"a\",\"\u{FB33}\":\"b\"},\"lines\":[],\"range\":[1,\"z\"],\"tenant\":\"acme\",\
        \"\u{1F600}\":-3,\"\u{FB33}\":\"O-1\"}";
    assert_eq!(preimage, expected);
}

#[test]
fn b03_an_integer_beyond_2_53_has_no_key_and_the_error_names_the_field() {
    #[idempotent(action = "pay", key = [payment], tenant = none)]
    #[derive(Serialize)]
    struct Pay {
        payment: Vec<u64>,
    }
    let error = IdempotencyKey::derive(&Pay {
        payment: vec![1, (1 << 53) + 1],
    })
    .unwrap_err();
    assert_eq!(error.path(), "payment[1]");
    assert!(error.to_string().contains("send it as a string"), "{error}");
}

#[test]
fn b06_an_optional_field_added_to_a_type_changes_no_key_and_no_fingerprint() {
    #[idempotent(action = "file", key = [id], tenant = none)]
    #[derive(Serialize)]
    struct First {
        id: u32,
        body: Body1,
    }
    #[derive(Serialize)]
    struct Body1 {
        text: &'static str,
    }
    #[idempotent(action = "file", key = [id, note], tenant = none)]
    #[derive(Serialize)]
    struct Second {
        id: u32,
        note: Option<&'static str>,
        body: Body2,
        extra: Option<u8>,
    }
    #[derive(Serialize)]
    struct Body2 {
        text: &'static str,
        author: Option<&'static str>,
    }
    let first = idem::derive(
        &First {
            id: 1,
            body: Body1 { text: "t" },
        },
        None,
    )
    .unwrap();
    let second = |note, author, extra| {
        idem::derive(
            &Second {
                id: 1,
                note,
                body: Body2 { text: "t", author },
                extra,
            },
            None,
        )
        .unwrap()
    };
    let same = second(None, None, None);
    assert_eq!(
        (same.key, same.fingerprint),
        (first.key.clone(), first.fingerprint.clone())
    );
    assert_ne!(second(Some(""), None, None).key, first.key);
    assert_ne!(second(None, Some(""), None).fingerprint, first.fingerprint);
    assert_ne!(second(None, None, Some(0)).fingerprint, first.fingerprint);
}

#[test]
fn b08_a_set_has_one_key_however_it_was_built() {
    #[idempotent(action = "tag", key = [tags], tenant = none)]
    #[derive(Serialize)]
    struct Tag {
        tags: BTreeSet<String>,
    }
    let tags = ["f", "b", "a", "e", "c", "d"];
    let keys: BTreeSet<_> = (0..100)
        .map(|turn| {
            let tags = tags
                .iter()
                .cycle()
                .skip(turn)
                .take(6)
                .map(|tag| (*tag).to_owned())
                .collect();
            IdempotencyKey::derive(&Tag { tags }).unwrap()
        })
        .collect();
    assert_eq!(keys.len(), 1);
}

fn order() -> impl Strategy<Value = PlaceOrder> {
    let line = (".{0,6}", any::<u32>(), any::<Option<u16>>()).prop_map(|(sku_code, quantity, lot)| Line {
        sku_code,
        quantity,
        lot,
    });
    let channel = prop_oneof![
        Just(Channel::InStore),
        ".{0,6}".prop_map(Channel::Web),
        (0_u64..1 << 53, prop::collection::btree_set(".{0,3}", 0..4))
            .prop_map(|(run, tags)| Channel::Agent { run, tags }),
    ];
    let labels = prop::collection::btree_map(".{0,4}", ".{0,4}", 0..4);
    let scalars = (
        "[A-Za-z0-9._-]{2,64}",
        ".{0,12}",
        any::<i32>(),
        any::<bool>(),
        any::<(u8, char)>(),
    );
    (scalars, prop::collection::vec(line, 0..3), channel, labels).prop_map(|(scalars, lines, channel, labels)| {
        let (tenant, order, count, express, range) = scalars;
        PlaceOrder {
            tenant,
            order,
            count,
            express,
            lines,
            channel,
            labels,
            range,
        }
    })
}

proptest! {
    #[test]
    fn the_preimage_is_the_reference_form_of_the_wire_form(order in order()) {
        #[derive(Serialize)]
        struct Wire<'a> {
            action: &'static str,
            #[serde(flatten)]
            order: &'a PlaceOrder,
        }
        let expected = serde_json_canonicalizer::to_vec(&Wire { action: "order.place", order: &order }).unwrap();
        let derived = idem::derive(&order, None).unwrap();
        prop_assert_eq!(&derived.preimage, &expected);
        let key = format!("dk_{}_{}", order.tenant, &Digest::of(&expected).to_string()[..40]);
        prop_assert_eq!(derived.key.as_str(), key);
    }
}
