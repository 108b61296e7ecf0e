//! The cases from the field once more, through the attribute and the derive.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idem::{
    ClientKey, Fingerprint, Idem, IdempotencyKey, Idempotent, KeyField, MemoryConnection, MemoryStore, Tenant,
    idempotent,
};
use serde::{Deserialize, Serialize};

fn preimage(input: &impl Idempotent) -> String {
    String::from_utf8(idem::derive(input, None).unwrap().preimage).unwrap()
}

fn key(input: &impl Idempotent) -> IdempotencyKey {
    idem::derive(input, None).unwrap().key
}

fn fingerprint(input: &impl Idempotent) -> Fingerprint {
    idem::derive(input, None).unwrap().fingerprint
}

#[test]
fn b01_names_are_sorted_by_utf16_units_at_every_depth_of_a_type() {
    #[derive(KeyField, Serialize)]
    struct Inner {
        #[serde(rename = "\u{FB33}")]
        last: u8,
        #[serde(rename = "\u{1F600}")]
        first: u8,
    }
    #[derive(KeyField, Serialize)]
    enum Variant {
        #[serde(rename = "\u{1F600}")]
        Held {
            #[serde(rename = "\u{E000}")]
            last: Vec<Inner>,
            #[serde(rename = "\u{10FFFF}")]
            first: u8,
        },
    }
    #[idempotent(action = "a", key = [last, first, map], tenant = none)]
    #[derive(Serialize)]
    struct Outer {
        #[serde(rename = "\u{FFFD}")]
        last: Variant,
        #[serde(rename = "\u{10000}")]
        first: Inner,
        map: BTreeMap<String, u8>,
        #[serde(rename = "\u{FB33}")]
        payload_last: u8,
        #[serde(rename = "\u{1F600}")]
        payload_first: u8,
    }
    let inner = || Inner { last: 2, first: 1 };
    let outer = Outer {
        last: Variant::Held {
            last: vec![inner()],
            first: 3,
        },
        first: inner(),
        map: BTreeMap::from([("\u{FB33}".to_owned(), 2), ("\u{1F600}".to_owned(), 1)]),
        payload_last: 2,
        payload_first: 1,
    };
    let sorted = "{\"\u{1F600}\":1,\"\u{FB33}\":2}";
    assert_eq!(
        preimage(&outer),
        format!(
            "{{\"action\":\"a\",\"map\":{sorted},\"\u{10000}\":{sorted},\
             \"\u{FFFD}\":{{\"\u{1F600}\":{{\"\u{10FFFF}\":3,\"\u{E000}\":[{sorted}]}}}}}}"
        )
    );
}

#[test]
fn b02_numbers_in_the_payload_are_spelled_as_ecmascript_spells_them() {
    #[idempotent(action = "a", key = [id], tenant = none)]
    #[derive(Serialize)]
    struct Measure<T> {
        id: u8,
        value: T,
    }
    let of = |value: f64| fingerprint(&Measure { id: 1, value });
    let text = |text: &str| {
        fingerprint(&Measure {
            id: 1,
            value: serde_json::from_str::<serde_json::Value>(text).unwrap(),
        })
    };
    assert_eq!(of(0.000_001), text("1e-6"));
    assert_eq!(of(-0.0), text("0"));
    assert_eq!(of(1e21), text("1000000000000000000000.0"));
    assert_ne!(of(1e-7), of(0.0));
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = idem::derive(&Measure { id: 1, value }, None).unwrap_err();
        assert_eq!(error.path(), "value");
        let error = idem::derive(
            &Measure {
                id: 1,
                value: Some([value]),
            },
            None,
        )
        .unwrap_err();
        assert_eq!(error.path(), "value[0]");
    }
}

#[test]
fn b03_integers_beyond_2_53_are_refused_or_written_as_text() {
    #[derive(KeyField)]
    struct Amount {
        minor: i64,
    }
    #[idempotent(action = "pay", key = [amount], tenant = none)]
    struct Pay {
        amount: Amount,
    }
    let pay = |minor| {
        IdempotencyKey::derive(&Pay {
            amount: Amount { minor },
        })
    };
    for minor in [1 << 53, (1 << 53) + 1, i64::MIN, i64::MAX] {
        let error = pay(minor).unwrap_err();
        assert_eq!(error.path(), "amount.minor");
    }
    assert_ne!(pay((1 << 53) - 1).unwrap(), pay((1 << 53) - 2).unwrap());

    #[idempotent(action = "pay", key = [minor], tenant = none)]
    struct PayText {
        #[key(text)]
        minor: u128,
    }
    let keys: BTreeSet<_> = [1 << 53, (1 << 53) + 1, u128::from(u64::MAX), u128::MAX]
        .map(|minor| key(&PayText { minor }))
        .into();
    assert_eq!(keys.len(), 4);
}

#[test]
fn b04_a_number_has_one_fingerprint_however_it_was_sent() {
    #[idempotent(action = "book", key = [id], tenant = none)]
    #[derive(Serialize, Deserialize)]
    struct Book {
        id: u8,
        hours: f64,
        params: serde_json::Value,
    }
    let sent = |hours: &str, params: &str| {
        let text = format!("{{\"id\":1,\"hours\":{hours},\"params\":{{\"x\":{params}}}}}");
        fingerprint(&serde_json::from_str::<Book>(&text).unwrap())
    };
    for (hours, params) in [("1", "10"), ("1.0", "10.0"), ("1e0", "1e1")] {
        assert_eq!(sent(hours, params), sent("1", "10"));
    }
    assert_ne!(sent("1", "10"), sent("1", "\"10\""));
    assert_ne!(sent("1", "\"10\""), sent("1", "\"10.0\""));
}

#[test]
fn b05_the_order_of_fields_and_members_does_not_count() {
    #[idempotent(action = "a", key = [b, a], tenant = none)]
    #[derive(Serialize, Deserialize)]
    struct One {
        b: Vec<u32>,
        a: String,
        y: serde_json::Value,
        x: u32,
    }
    #[idempotent(action = "a", key = [a, b], tenant = none)]
    #[derive(Serialize, Deserialize)]
    struct Two {
        x: u32,
        y: serde_json::Value,
        a: String,
        b: Vec<u32>,
    }
    let one: One = serde_json::from_str(r#"{"a":"s","b":[1,2],"x":1,"y":{"k":1,"j":[2,3]}}"#).unwrap();
    let two: Two = serde_json::from_str("{ \"y\" : {\"j\":[2,3],\"k\":1}, \"x\":1,\"b\":[1,2],\n\"a\":\"s\"}").unwrap();
    assert_eq!((key(&one), fingerprint(&one)), (key(&two), fingerprint(&two)));
    let turned: Two = serde_json::from_str(r#"{"a":"s","b":[2,1],"x":1,"y":{"k":1,"j":[2,3]}}"#).unwrap();
    assert_ne!(key(&one), key(&turned));
    let inner: Two = serde_json::from_str(r#"{"a":"s","b":[1,2],"x":1,"y":{"k":1,"j":[3,2]}}"#).unwrap();
    assert_eq!(key(&one), key(&inner));
    assert_ne!(fingerprint(&one), fingerprint(&inner));
}

#[test]
fn b06_a_variant_and_a_nested_type_may_gain_an_optional_field() {
    mod before {
        #[idem::idempotent(tenant = none)]
        pub enum Command {
            #[idempotent(action = "file", key = [id, part])]
            File { id: u8, part: Part },
        }
        #[derive(idem::KeyField)]
        pub enum Part {
            Page { number: u8 },
        }
    }
    mod after {
        #[idem::idempotent(tenant = none)]
        pub enum Command {
            #[idempotent(action = "file", key = [id, part, note])]
            File {
                id: u8,
                part: Part,
                note: Option<String>,
                extra: Option<u8>,
            },
        }
        #[derive(idem::KeyField)]
        pub enum Part {
            Page { number: u8, colour: Option<String> },
        }
    }
    let before = before::Command::File {
        id: 1,
        part: before::Part::Page { number: 2 },
    };
    let after = |note: Option<&str>, colour: Option<&str>| after::Command::File {
        id: 1,
        part: after::Part::Page {
            number: 2,
            colour: colour.map(str::to_owned),
        },
        note: note.map(str::to_owned),
        extra: None,
    };
    assert_eq!(key(&before), key(&after(None, None)));
    assert_eq!(fingerprint(&before), fingerprint(&after(None, None)));
    let keys = BTreeSet::from([
        key(&before),
        key(&after(Some(""), None)),
        key(&after(None, Some(""))),
        key(&after(Some(""), Some(""))),
    ]);
    assert_eq!(keys.len(), 4);
}

#[test]
fn b07_no_two_members_of_a_key_have_one_name() {
    // Two fields of one name do not compile (tests/ui/name/same_wire_name.rs). Names that only become equal in a map
    // are told at run time, with the path.
    #[derive(KeyField)]
    struct Twice(BTreeMap<Ambiguous, u8>);
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Ambiguous(u8);
    impl idem::KeyName for Ambiguous {
        fn name(&self) -> std::borrow::Cow<'_, str> {
            "amount".into()
        }
    }
    #[idempotent(action = "pay", key = [parts], tenant = none)]
    struct Pay {
        parts: Twice,
    }
    let error = IdempotencyKey::derive(&Pay {
        parts: Twice(BTreeMap::from([(Ambiguous(1), 1), (Ambiguous(2), 2)])),
    })
    .unwrap_err();
    assert_eq!(error.path(), "parts.amount");

    // The same in a payload that a serde implementation writes.
    struct Repeats;
    impl Serialize for Repeats {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_map([("amount", 1), ("amount", 2)])
        }
    }
    #[idempotent(action = "pay", key = [id], tenant = none)]
    #[derive(Serialize)]
    struct PayRepeated {
        id: u8,
        body: Repeats,
    }
    let error = idem::derive(&PayRepeated { id: 1, body: Repeats }, None).unwrap_err();
    assert_eq!(error.path(), "body.amount");
}

#[test]
fn b08_a_hash_set_in_a_key_is_sorted_when_it_says_so_and_vectors_are_not() {
    #[derive(KeyField)]
    struct Nested(#[key(set)] Option<HashSet<(u32, String)>>);
    #[idempotent(action = "tag", key = [tags, nested, steps], tenant = none)]
    struct Tag {
        #[key(set)]
        tags: HashSet<String>,
        nested: Vec<Nested>,
        steps: Vec<Step>,
        payload: HashMap<String, u32>,
    }
    #[derive(KeyField)]
    struct Step(u8);
    let names = ["a", "b", "c", "d", "e", "f"];
    let tag = |turn: usize, steps: [u8; 2]| {
        let turned = || names.iter().cycle().skip(turn).take(6).map(|name| (*name).to_owned());
        Tag {
            tags: turned().collect(),
            nested: vec![
                Nested(Some(turned().zip(0..).map(|(name, _)| (1, name)).collect())),
                Nested(None),
            ],
            steps: steps.map(Step).into(),
            payload: turned().map(|name| (name, 1)).collect(),
        }
    };
    let keys: BTreeSet<_> = (0..100).map(|turn| key(&tag(turn, [1, 2]))).collect();
    assert_eq!(keys.len(), 1);
    let first = fingerprint(&tag(0, [1, 2]));
    assert!((1..100).all(|turn| fingerprint(&tag(turn, [1, 2])) == first));
    assert_ne!(key(&tag(0, [1, 2])), key(&tag(0, [2, 1])));
}

#[test]
fn b09_fields_keep_their_boundaries() {
    #[idempotent(action = "a", key = [tenant, first, second])]
    struct Parts<'a> {
        tenant: &'a str,
        first: &'a str,
        second: Option<&'a str>,
    }
    let parts = |tenant, first, second| key(&Parts { tenant, first, second });
    let client = |tenant: &str, id: &str| ClientKey::parse(id).unwrap().under(&Tenant::parse(tenant).unwrap());
    let keys = [
        parts("a", "b", Some("c")),
        parts("ab", "", Some("c")),
        parts("a", "bc", Some("")),
        parts("a", "bc", None),
        parts("a", "", Some("bc")),
        parts("a", "b\",\"second\":\"c", None),
        parts("a", "b\0", Some("c")),
        parts("a", "b\n", Some("c")),
        parts("a_b", "", Some("c")),
        parts("a", "b_", Some("c")),
        client("a", "b-c"),
        client("a_b", "c"),
    ];
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());

    // Two types with the same values and another action or another name for a member.
    #[idempotent(action = "a", key = [tenant, first])]
    struct One<'a> {
        tenant: &'a str,
        first: &'a str,
    }
    #[idempotent(action = "a", key = [tenant, second])]
    struct Two<'a> {
        tenant: &'a str,
        second: &'a str,
    }
    #[idempotent(action = "b", key = [tenant, first])]
    struct Three<'a> {
        tenant: &'a str,
        first: &'a str,
    }
    let (tenant, first) = ("a", "x");
    assert_ne!(key(&One { tenant, first }), key(&Two { tenant, second: first }));
    assert_ne!(key(&One { tenant, first }), key(&Three { tenant, first }));
}

#[test]
fn b10_composed_and_decomposed_text_are_two_keys_and_two_payloads() {
    #[idempotent(action = "file.store", key = [name], tenant = none)]
    #[derive(Serialize)]
    struct StoreFile {
        name: String,
        title: String,
    }
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    let file = |name: &str, title: &str| StoreFile {
        name: name.into(),
        title: title.into(),
    };
    assert_ne!(key(&file(composed, "")), key(&file(decomposed, "")));
    assert_eq!(key(&file("", composed)), key(&file("", decomposed)));
    assert_ne!(fingerprint(&file("", composed)), fingerprint(&file("", decomposed)));
    assert_eq!(
        preimage(&file(decomposed, "")),
        "{\"action\":\"file.store\",\"name\":\"cafe\u{301}\"}"
    );
}

/// A time in text is text. An instant itself is refused by the compiler (tests/ui/type/instant.rs), because it is new
/// on each attempt; where one does identify, it is a newtype that writes one form: UTC, whole milliseconds.
#[test]
fn b11_one_instant_has_one_key_when_a_type_says_how_it_is_written() {
    struct At {
        unix_millis: i64,
    }

    impl At {
        fn parse(text: &str) -> Self {
            // `2026-03-29T03:30:00.5+02:00`, as far as this test needs it.
            let (clock, offset) = match text.strip_suffix('Z') {
                Some(clock) => (clock, 0),
                None => {
                    let (clock, offset) = text.split_at(text.len() - 6);
                    (clock, offset[..3].parse::<i64>().unwrap())
                }
            };
            let time: Vec<f64> = clock[11..].split(':').map(|part| part.parse().unwrap()).collect();
            let millis = (time[0] * 3_600_000.0 + time[1] * 60_000.0 + time[2] * 1_000.0) as i64;
            Self {
                unix_millis: millis - offset * 3_600_000,
            }
        }
    }

    impl KeyField for At {
        fn write(&self, out: &mut idem::canonical::CanonicalWriter) -> Result<(), idem::CanonicalError> {
            out.integer(self.unix_millis)
        }
    }

    #[derive(KeyField)]
    struct Slot {
        from: At,
        until: Option<At>,
    }
    #[idempotent(action = "slot.book", key = [slot], tenant = none)]
    struct Book {
        slot: Slot,
    }
    #[idempotent(action = "slot.book", key = [from], tenant = none)]
    struct BookText {
        from: String,
    }
    let spellings = [
        "2026-03-29T03:30:00+02:00",
        "2026-03-29T01:30:00Z",
        "2026-03-29T01:30:00.000Z",
    ];
    let typed = spellings.map(|from| {
        key(&Book {
            slot: Slot {
                from: At::parse(from),
                until: Some(At::parse("2026-03-29T02:30:00.5Z")),
            },
        })
    });
    assert_eq!(BTreeSet::from(typed).len(), 1);
    let text = spellings.map(|from| key(&BookText { from: from.into() }));
    assert_eq!(BTreeSet::from(text).len(), 3);
    let precise = |until: &str| {
        key(&Book {
            slot: Slot {
                from: At::parse(spellings[0]),
                until: Some(At::parse(until)),
            },
        })
    };
    assert_eq!(precise("2026-03-29T02:30:00.5Z"), precise("2026-03-29T02:30:00.500Z"));
}

#[idempotent(action = "stock.add", key = [run, step], tenant = none)]
#[derive(Clone, Serialize)]
struct AddStock {
    run: String,
    step: u32,
    sku: u32,
    count: u32,
    #[transient]
    call_id: String,
}

fn add_stock(run: &str, step: u32, call_id: &str) -> AddStock {
    AddStock {
        run: run.into(),
        step,
        sku: 1,
        count: 5,
        call_id: call_id.into(),
    }
}

/// Counts how often the effect ran.
struct Counted {
    idem: Idem<MemoryStore>,
    ran: Arc<AtomicUsize>,
}

impl Counted {
    fn new() -> Self {
        Self {
            idem: Idem::new(MemoryStore::new()),
            ran: Arc::default(),
        }
    }

    /// Returns whether it was a replay.
    async fn run(&self, input: AddStock) -> bool {
        let ran = self.ran.clone();
        let done = self
            .idem
            .transaction(&input, async |_: &mut MemoryConnection| {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .await;
        done.unwrap().is_replayed()
    }

    fn ran(&self) -> usize {
        self.ran.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn b34_the_same_arguments_in_another_step_or_run_are_another_effect() {
    let stock = Counted::new();
    assert!(!stock.run(add_stock("r1", 3, "c1")).await);
    assert!(!stock.run(add_stock("r1", 7, "c2")).await);
    assert!(stock.run(add_stock("r1", 7, "c3")).await);
    assert!(!stock.run(add_stock("r2", 7, "c4")).await);
    assert_eq!(stock.ran(), 3);
}

/// That an id minted on each call does not get into a key unseen is in `tests/ui/key/each_name_that_varies.rs`.
#[tokio::test]
async fn b35_a_fresh_call_id_from_the_model_is_not_another_effect() {
    let stock = Counted::new();
    for call_id in ["c1", "c2", "c3"] {
        let replayed = stock.run(add_stock("r1", 1, call_id)).await;
        assert_eq!(replayed, call_id != "c1");
    }
    assert_eq!(stock.ran(), 1);
}

/// What the generated code calls its own is met by the user's names in every place where one can stand.
#[test]
fn b40_names_of_the_user_never_meet_those_of_the_macros() {
    #[derive(KeyField, Clone, Copy)]
    #[expect(non_camel_case_types, reason = "the point of the case")]
    struct key<'hash, T>
    where
        T: Copy,
    {
        lock: T,
        result: &'hash str,
        r#type: u8,
    }
    #[idempotent(action = "a", key = [key, hash, tx, self_, r#type, result], tenant = tenant, once_per = [lock])]
    struct Members<'w, Out: Copy>
    where
        Out: Ord,
    {
        tenant: &'w str,
        key: key<'w, Out>,
        hash: u8,
        tx: Out,
        self_: Option<Out>,
        r#type: u8,
        result: &'w str,
        lock: u8,
    }
    let members = Members {
        tenant: "acme",
        key: key {
            lock: 1_u32,
            result: "r",
            r#type: 2,
        },
        hash: 3,
        tx: 4,
        self_: None,
        r#type: 5,
        result: "ok",
        lock: 6,
    };
    assert_eq!(
        preimage(&members),
        r#"{"action":"a","hash":3,"key":{"lock":1,"result":"r","type":2},"result":"ok","tx":4,"type":5}"#
    );
}

#[test]
fn b40_two_types_of_one_name_have_keys_of_their_own() {
    mod first {
        #[idem::idempotent(action = "gateway.charge", key = [n], tenant = none)]
        pub struct Charge {
            pub n: u8,
        }
    }
    mod second {
        #[idem::idempotent(action = "wallet.charge", key = [n], tenant = none)]
        pub struct Charge {
            pub n: u8,
        }
    }
    assert_ne!(key(&first::Charge { n: 1 }), key(&second::Charge { n: 1 }));
}
