//! Values that serde puts where a JSON name or literal must stand.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Impossible};

use super::number::{MAX_SAFE, out_of_range};
use super::{CanonicalError, CanonicalErrorKind, Mode, Written};

/// Turns a map's key into its one spelling as a string and hands it on.
pub(super) struct NameSerializer<F> {
    pub(super) mode: Mode,
    pub(super) sink: F,
}

impl<F: FnOnce(&str) -> Written> NameSerializer<F> {
    fn whole(self, integer: impl itoa::Integer) -> Written {
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(integer);
        let is_safe = digits
            .parse::<i64>()
            .is_ok_and(|value| value.unsigned_abs() <= MAX_SAFE);
        match self.mode != Mode::Key || is_safe {
            true => (self.sink)(digits),
            false => Err(out_of_range(digits)),
        }
    }
}

macro_rules! integers {
    ($($method:ident: $integer:ty),*) => {
        $(fn $method(self, value: $integer) -> Written { self.whole(value) })*
    };
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $ok:ty: $what:literal;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$ok, CanonicalError> { Err(unsupported($what)) })*
    };
}

impl<F: FnOnce(&str) -> Written> ser::Serializer for NameSerializer<F> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Impossible<(), CanonicalError>;
    type SerializeTuple = Impossible<(), CanonicalError>;
    type SerializeTupleStruct = Impossible<(), CanonicalError>;
    type SerializeTupleVariant = Impossible<(), CanonicalError>;
    type SerializeMap = Impossible<(), CanonicalError>;
    type SerializeStruct = Impossible<(), CanonicalError>;
    type SerializeStructVariant = Impossible<(), CanonicalError>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_str(self, text: &str) -> Written {
        (self.sink)(text)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Written {
        (self.sink)(&value.to_string())
    }

    fn serialize_bool(self, value: bool) -> Written {
        (self.sink)(if value { "true" } else { "false" })
    }

    fn serialize_char(self, value: char) -> Written {
        (self.sink)(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        (self.sink)(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Written {
        Err(unsupported("an option"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        Err(unsupported("an enum variant with content"))
    }

    refused! {
        serialize_f32(f32) -> (): "a float";
        serialize_f64(f64) -> (): "a float";
        serialize_bytes(&[u8]) -> (): "a byte string";
        serialize_none() -> (): "an option";
        serialize_unit() -> (): "a unit";
        serialize_unit_struct(&'static str) -> (): "a unit";
        serialize_seq(Option<usize>) -> Self::SerializeSeq: "a sequence";
        serialize_tuple(usize) -> Self::SerializeTuple: "a tuple";
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct: "a tuple";
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant: "an enum variant with content";
        serialize_map(Option<usize>) -> Self::SerializeMap: "a map";
        serialize_struct(&'static str, usize) -> Self::SerializeStruct: "a struct";
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant: "an enum variant with content";
    }
}

fn unsupported(what: &str) -> CanonicalError {
    CanonicalError::new(
        CanonicalErrorKind::UnsupportedName,
        format!("{what} names a member, but has no one spelling as a string: use a string, or a list of pairs"),
    )
}
