//! serde's data model over the canonical writer.

use serde::Serialize;
use serde::ser;

use super::map::{Fields, Items, Map, Variant};
use super::writer::CanonicalWriter;
use super::{CanonicalError, CanonicalErrorKind, Mode, Written};

/// The name of a newtype whose JSON is known to read back as what it is, as far as an outcome is concerned.
pub const LOSSLESS: &str = "$idem::lossless";

/// Writes one serde value.
pub(super) struct Serializer<'w> {
    writer: &'w mut CanonicalWriter,
    /// Whether the value is a field that is left out, by writing nothing, when it is `None`.
    leave_out: bool,
}

impl<'w> Serializer<'w> {
    pub(super) fn new(writer: &'w mut CanonicalWriter) -> Self {
        Self {
            writer,
            leave_out: false,
        }
    }

    /// Writes a field, or nothing for `None`.
    pub(super) fn field(writer: &'w mut CanonicalWriter) -> Self {
        Self {
            writer,
            leave_out: true,
        }
    }

    /// Writes a field of a struct somewhere inside a value. Adding an optional field must not change a fingerprint;
    /// in a key such a value is plain RFC 8785, as other languages see it.
    pub(super) fn nested_field(writer: &'w mut CanonicalWriter) -> Self {
        let leave_out = writer.mode == Mode::Fingerprint;
        Self { writer, leave_out }
    }
}

macro_rules! scalars {
    ($($method:ident: $scalar:ty => $writer:ident;)*) => {
        $(fn $method(self, value: $scalar) -> Written { self.writer.$writer(value.into()) })*
    };
}

impl<'w> ser::Serializer for Serializer<'w> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Items<'w>;
    type SerializeTuple = Items<'w>;
    type SerializeTupleStruct = Items<'w>;
    type SerializeTupleVariant = Items<'w>;
    type SerializeMap = Map<'w>;
    type SerializeStruct = Fields<'w>;
    type SerializeStructVariant = Fields<'w>;

    scalars! {
        serialize_bool: bool => boolean;
        serialize_i8: i8 => integer;
        serialize_i16: i16 => integer;
        serialize_i32: i32 => integer;
        serialize_i64: i64 => integer;
        serialize_i128: i128 => integer_128;
        serialize_u8: u8 => unsigned;
        serialize_u16: u16 => unsigned;
        serialize_u32: u32 => unsigned;
        serialize_u64: u64 => unsigned;
        serialize_u128: u128 => unsigned_128;
        serialize_f32: f32 => single;
        serialize_f64: f64 => double;
        serialize_str: &str => string;
        serialize_bytes: &[u8] => bytes;
    }

    fn serialize_char(self, value: char) -> Written {
        self.writer.string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_none(self) -> Written {
        if self.leave_out {
            return Ok(());
        }
        self.writer.null()
    }

    /// What is inside an option is no field any more: `Some(None)` is `null`, and differs from `None`.
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        let Self { writer, .. } = self;
        let before = writer.buffer.len();
        value.serialize(Serializer::new(&mut *writer))?;
        if writer.lossless && writer.buffer.get(before..) == Some(b"null") {
            let reason = "`Some` of nothing is written as `null`, which reads back as `None`: use an enum, or leave the value out";
            return Err(CanonicalError::new(CanonicalErrorKind::Absent, reason));
        }
        Ok(())
    }

    fn serialize_unit(self) -> Written {
        self.writer.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.writer.null()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.writer.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Written {
        // What is written by its own crate in a form that reads back is not gone through again.
        if self.writer.lossless && name == LOSSLESS {
            return self.writer.null();
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        self.writer
            .object(|members| members.member(variant, |writer| value.serialize(Serializer::new(writer))))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w>, CanonicalError> {
        Items::open(self.writer, None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'w>, CanonicalError> {
        Items::open(self.writer, None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'w>, CanonicalError> {
        Items::open(self.writer, None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w>, CanonicalError> {
        let variant = Variant::open(self.writer, variant)?;
        Items::open(self.writer, Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Map<'w>, CanonicalError> {
        Map::open(self.writer)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'w>, CanonicalError> {
        Fields::open_struct(self.writer, name)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'w>, CanonicalError> {
        let variant = Variant::open(self.writer, variant)?;
        Fields::open(self.writer, Some(variant))
    }
}
