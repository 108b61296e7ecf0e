//! serde's compound values: sequences, maps, structs and the variants that wrap them.

use serde::Serialize;
use serde::ser;

use super::members::{Elements, Members};
use super::name::NameSerializer;
use super::object::Object;
use super::read;
use super::serialize::Serializer;
use super::writer::CanonicalWriter;
use super::{CanonicalError, CanonicalErrorKind, Mode, Written};

/// The object `{"Variant": …}` around the content of a variant.
pub(super) struct Variant {
    object: Object,
    name: &'static str,
}

impl Variant {
    pub(super) fn open(writer: &mut CanonicalWriter, name: &'static str) -> Result<Self, CanonicalError> {
        let mut object = writer.open_object()?;
        writer.open_member(&mut object, name)?;
        Ok(Self { object, name })
    }

    fn close(self, writer: &mut CanonicalWriter) -> Written {
        writer.close_member(&self.object)?;
        writer.close_object(&self.object)
    }
}

fn within(variant: &Option<Variant>) -> impl Fn(CanonicalError) -> CanonicalError {
    let name = variant.as_ref().map(|variant| variant.name);
    move |error| match name {
        Some(name) => error.within_member(name),
        None => error,
    }
}

/// A sequence or tuple.
pub(super) struct Items<'w> {
    elements: Elements<'w>,
    variant: Option<Variant>,
}

impl<'w> Items<'w> {
    pub(super) fn open(writer: &'w mut CanonicalWriter, variant: Option<Variant>) -> Result<Self, CanonicalError> {
        let elements = Elements::open(writer).map_err(within(&variant))?;
        Ok(Self { elements, variant })
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.elements
            .element(|writer| value.serialize(Serializer::new(writer)))
            .map_err(within(&self.variant))
    }

    fn close(self) -> Written {
        let writer = self.elements.close()?;
        self.variant.map_or(Ok(()), |variant| variant.close(writer))
    }
}

macro_rules! items {
    ($($interface:ident::$method:ident),*) => {
        $(impl ser::$interface for Items<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
                self.item(value)
            }

            fn end(self) -> Written {
                self.close()
            }
        })*
    };
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// A map; its entries may come in any order.
pub(super) struct Map<'w> {
    members: Members<'w>,
}

impl<'w> Map<'w> {
    pub(super) fn open(writer: &'w mut CanonicalWriter) -> Result<Self, CanonicalError> {
        Ok(Self {
            members: Members::open(writer)?,
        })
    }
}

impl ser::SerializeMap for Map<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        let mode = self.members.writer().mode;
        key.serialize(NameSerializer {
            mode,
            sink: |name: &str| self.members.begin(name),
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.members.end(|writer| value.serialize(Serializer::new(writer)))
    }

    fn end(self) -> Written {
        self.members.close().map(drop)
    }
}

/// A struct, or one of the two struct names by which serde_json passes its own types through other serializers.
///
/// Only a struct can carry such a name; a map with an entry of that name is a map.
pub(super) enum Fields<'w> {
    Object {
        members: Members<'w>,
        variant: Option<Variant>,
    },
    /// A number that kept its literal (`arbitrary_precision`).
    Number(&'w mut CanonicalWriter),
    /// JSON text that nobody has read.
    Raw(&'w mut CanonicalWriter),
}

impl<'w> Fields<'w> {
    pub(super) fn open(writer: &'w mut CanonicalWriter, variant: Option<Variant>) -> Result<Self, CanonicalError> {
        let members = Members::open(writer).map_err(within(&variant))?;
        Ok(Self::Object { members, variant })
    }

    pub(super) fn open_struct(writer: &'w mut CanonicalWriter, name: &'static str) -> Result<Self, CanonicalError> {
        match name {
            "$serde_json::private::Number" => Ok(Self::Number(writer)),
            "$serde_json::private::RawValue" if writer.mode == Mode::Key => Err(CanonicalError::new(
                CanonicalErrorKind::RawValue,
                "a `RawValue` is text that nobody has read: parse it into a type of your own or a `serde_json::Value`",
            )),
            "$serde_json::private::RawValue" => Ok(Self::Raw(writer)),
            _ => Self::open(writer, None),
        }
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        match self {
            Self::Object { members, variant } => members
                .optional(name, |writer| value.serialize(Serializer::nested_field(writer)))
                .map_err(within(variant)),
            Self::Number(writer) => {
                let sink = |literal: &str| read::read_number(literal, writer);
                value.serialize(NameSerializer { mode: Mode::Form, sink })
            }
            Self::Raw(writer) => {
                let sink = |text: &str| read::read(text.as_bytes(), writer).map_err(CanonicalError::without_offset);
                value.serialize(NameSerializer { mode: Mode::Form, sink })
            }
        }
    }

    fn close(self) -> Written {
        let Self::Object { members, variant } = self else {
            return Ok(());
        };
        let writer = members.close().map_err(within(&variant))?;
        variant.map_or(Ok(()), |variant| variant.close(writer))
    }
}

macro_rules! fields {
    ($($interface:ident),*) => {
        $(impl ser::$interface for Fields<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
                self.field(name, value)
            }

            fn end(self) -> Written {
                self.close()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
