use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::key::canonical::CanonicalErrorKind;
use crate::key::{Digest, Tenant};

fn form<M, T: KeyField<M> + ?Sized>(value: &T) -> String {
    let mut writer = CanonicalWriter::new(Mode::Key);
    value.write(&mut writer).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn scalars_are_written_as_their_wire_form() {
    assert_eq!(form("a\"é"), r#""a\"é""#);
    assert_eq!(form(&-5_i8), "-5");
    assert_eq!(form(&255_u8), "255");
    assert_eq!(form(&u32::MAX), "4294967295");
    assert_eq!(form(&7_usize), "7");
    assert_eq!(form(&true), "true");
    assert_eq!(form(&'😀'), "\"😀\"");
    assert_eq!(
        form(&Uuid::from_u128(0xabc)),
        "\"00000000-0000-0000-0000-000000000abc\""
    );
    assert_eq!(
        form(&Digest::from_bytes([0xab; 32])),
        format!("\"{}\"", "ab".repeat(32))
    );
    assert_eq!(form(&Tenant::parse("acme").unwrap()), "\"acme\"");
}

#[test]
fn pointers_are_written_as_what_they_point_to() {
    assert_eq!(form(&Box::new(1_u32)), "1");
    assert_eq!(form(&Rc::new("x".to_owned())), "\"x\"");
    assert_eq!(form(&Arc::<str>::from("x")), "\"x\"");
    assert_eq!(form(&Cow::Borrowed("x")), "\"x\"");
    assert_eq!(form(&&&"x"), "\"x\"");
    assert!(Box::new(None::<u32>).is_absent());
    assert!(!Some(None::<u32>).is_absent());
}

#[test]
fn rows_and_tuples_are_arrays() {
    assert_eq!(form(&vec![Some(1_u32), None]), "[1,null]");
    assert_eq!(form(&["a", "b"]), r#"["a","b"]"#);
    assert_eq!(form(&[[1_u16; 2]; 2]), "[[1,1],[1,1]]");
    assert_eq!(form(&(1_u8, "a", Some('c'), (2_i64,))), r#"[1,"a","c",[2]]"#);
    assert_eq!(form(&vec![(1_u8, 2_u8)]), "[[1,2]]");
    assert_eq!(
        form(&(1_u8, 2_u8, 3_u8, 4_u8, 5_u8, 6_u8, 7_u8, "h")),
        r#"[1,2,3,4,5,6,7,"h"]"#
    );
}

#[test]
fn trees_are_written_in_order() {
    assert_eq!(form(&BTreeSet::from(["b", "a"])), r#"["a","b"]"#);
    assert_eq!(form(&BTreeSet::from([2_u8, 10])), "[2,10]");
    let map = BTreeMap::from([("\u{fb33}".to_owned(), vec![1_u32]), ("\u{1f600}".to_owned(), vec![])]);
    assert_eq!(form(&map), "{\"\u{1f600}\":[],\"\u{fb33}\":[1]}");
    assert_eq!(
        form(&BTreeMap::from([('b', None), ('a', Some(1_u32))])),
        r#"{"a":1,"b":null}"#
    );
}

#[test]
fn an_integer_out_of_range_is_refused_with_its_path() {
    let mut writer = CanonicalWriter::new(Mode::Key);
    let error = vec![BTreeMap::from([("a", 1_u64 << 53)])]
        .write(&mut writer)
        .unwrap_err();
    assert_eq!(error.path(), "[0].a");
}

#[test]
fn an_implementation_that_writes_nothing_or_twice_is_an_error() {
    struct Writes(u8);
    impl KeyField for Writes {
        fn write(&self, out: &mut CanonicalWriter) -> Result<(), CanonicalError> {
            match self.0 {
                0 => Ok(()),
                1 => out.boolean(true).and_then(|()| out.boolean(false)),
                2 => {
                    // Goes on after an error.
                    let _ = out.object(|members| members.key("a", &Writes(0)));
                    Ok(())
                }
                _ => {
                    let _ = out.array(|elements| elements.key(&(1_u64 << 60)));
                    Ok(())
                }
            }
        }
    }
    for fault in 0..4 {
        let mut writer = CanonicalWriter::new(Mode::Key);
        assert!(
            writer.object(|members| members.key("x", &Writes(fault))).is_err(),
            "{fault}"
        );
        assert!(writer.finish().is_err(), "{fault}");
        let mut writer = CanonicalWriter::new(Mode::Key);
        let _ = Writes(fault).write(&mut writer);
        assert!(fault == 1 || writer.finish().is_err(), "{fault}");
    }
}

#[test]
fn a_subject_is_text_or_a_canonical_form() {
    assert_eq!(subject_text("s", "C \"7\"").unwrap().as_deref(), Some("C \"7\""));
    assert_eq!(subject_text("s", &7_u32).unwrap().as_deref(), Some("7"));
    assert_eq!(subject_text("s", &("a", 1_u32)).unwrap().as_deref(), Some(r#"["a",1]"#));
    assert_eq!(subject_text("s", &None::<String>).unwrap(), None);
    assert_eq!(subject_text("s", &(1_u64 << 60)).unwrap_err().path(), "s");
}

#[cfg(feature = "rust_decimal")]
#[test]
fn a_decimal_is_written_without_trailing_zeros() {
    let decimal = |text: &str| form(&text.parse::<rust_decimal::Decimal>().unwrap());
    assert_eq!(decimal("1.50"), "\"1.5\"");
    assert_eq!(decimal("100"), "\"100\"");
    assert_eq!(decimal("-0.00"), "\"0\"");
    assert_eq!(decimal("-7.10"), "\"-7.1\"");
}

#[test]
fn an_integer_of_any_size_is_text_on_demand() {
    assert_eq!(form(&AsText(&u64::MAX)), "\"18446744073709551615\"");
    assert_eq!(form(&AsText(&i128::MIN)), format!("\"{}\"", i128::MIN));
    assert_eq!(form(&AsText(&Some(7_u8))), "\"7\"");
    assert!(AsText(&None::<u64>).is_absent());
}

#[test]
fn a_set_is_sorted_by_the_form_of_its_elements() {
    assert_eq!(form(&AsSet(&vec![10_u32, 9, 2])), "[10,2,9]");
    assert_eq!(form(&AsSet(&Vec::<String>::new())), "[]");
    let words = ["f", "b", "a", "e", "c", "d"];
    for turn in 0..50 {
        let set: HashSet<_> = words.iter().cycle().skip(turn % 6).take(6).collect();
        assert_eq!(form(&AsSet(&set)), r#"["a","b","c","d","e","f"]"#);
    }
    let nested = BTreeSet::from([vec![Some(1_u32)], vec![None]]);
    assert_eq!(form(&AsSet(&Some(&nested))), "[[1],[null]]");
    assert_eq!(form(&(AsSet(&["b", "a"]), "c")), r#"[["a","b"],"c"]"#);
}

#[test]
fn an_element_given_twice_is_refused() {
    let mut writer = CanonicalWriter::new(Mode::Key);
    let error = writer
        .object(|members| members.key_set("tags", &vec!["a", "b", "a"]))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path().as_str()),
        (CanonicalErrorKind::DuplicateElement, "tags")
    );
}

#[test]
fn a_foreign_id_is_written_by_its_display() {
    struct Quoted(&'static str);
    impl std::fmt::Display for Quoted {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match self.0 {
                "" => Err(std::fmt::Error),
                text => write!(f, "<{text}\n>"),
            }
        }
    }
    assert_eq!(form(&AsDisplay(&Quoted("a\"b"))), r#""<a\"b\n>""#);
    assert_eq!(form(&AsDisplay(&Some(Quoted("a")))), r#""<a\n>""#);
    assert!(AsDisplay(&None::<Quoted>).is_absent());
    let mut writer = CanonicalWriter::new(Mode::Key);
    let error = writer
        .object(|members| members.key_display("id", &Quoted("")))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path().as_str()),
        (CanonicalErrorKind::Serialize, "id")
    );
}

#[test]
fn types_of_one_form_have_one_shape() {
    fn shape<M, T: KeyField<M> + ?Sized>() -> Shape {
        T::SHAPE
    }
    assert_eq!(shape::<_, Vec<Box<u16>>>(), shape::<_, [i64]>());
    assert_eq!(shape::<_, (&str, [u32; 2])>(), shape::<_, (Cow<'_, str>, Vec<usize>)>());
    assert_eq!(shape::<_, AsText<'_, u128>>(), shape::<_, String>());
    assert_eq!(shape::<_, AsDisplay<'_, Option<u8>>>(), shape::<_, Option<String>>());
    assert_eq!(shape::<_, AsSet<'_, HashSet<u16>>>(), shape::<_, AsSet<'_, [u16]>>());
    assert_ne!(shape::<_, AsSet<'_, [u16]>>(), shape::<_, BTreeSet<u16>>());
    assert_ne!(shape::<_, BTreeSet<u16>>(), shape::<_, [u16]>());
    assert_ne!(shape::<_, Uuid>(), shape::<_, String>());
}

#[cfg(all(feature = "chrono", feature = "jiff", feature = "time"))]
#[test]
fn a_civil_date_is_written_alike_whichever_crate_it_is_of() {
    let spelled = "\"0987-03-09\"";
    assert_eq!(form(&chrono::NaiveDate::from_ymd_opt(987, 3, 9).unwrap()), spelled);
    assert_eq!(form(&jiff::civil::date(987, 3, 9)), spelled);
    assert_eq!(
        form(&time::Date::from_calendar_date(987, time::Month::March, 9).unwrap()),
        spelled
    );
    let mut writer = CanonicalWriter::new(Mode::Key);
    let error = chrono::NaiveDate::MAX.write(&mut writer).unwrap_err();
    assert_eq!(error.kind(), CanonicalErrorKind::DateOutOfRange);
    assert!(
        jiff::civil::date(-1, 1, 1)
            .write(&mut CanonicalWriter::new(Mode::Key))
            .is_err()
    );
}

#[cfg(feature = "ulid")]
#[test]
fn a_ulid_is_written_in_upper_case() {
    let ulid = ::ulid::Ulid::from_string("01arz3ndektsv4rrffq69g5fav").unwrap();
    assert_eq!(form(&ulid), "\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"");
}

#[cfg(feature = "schemars")]
#[test]
fn the_schema_of_generated_text_is_that_of_text() {
    let schema = |schema: schemars::Schema| schema.get("type").cloned();
    assert_eq!(
        schema(schemars::schema_for!(crate::key::Generated<String>)),
        schema(schemars::schema_for!(String))
    );
}
